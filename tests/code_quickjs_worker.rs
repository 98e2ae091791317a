//! A program that is started anew for every run, as an embedding one is.

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use serde_json::json;
    use toolfall::code::quickjs::{QuickJsRuntime, worker};
    use toolfall::code::{CodeRuntime, RunRequest};

    pub(super) fn main() {
        worker();
        // Runners ask what tests there are, and for some of them.
        if std::env::args().any(|argument| argument == "--list") {
            println!("runs_in_its_own_executable: test");
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let programs = QuickJsRuntime::builder().prestart(1).build().unwrap();
            for _ in 0..2 {
                let request = RunRequest::new("const a: number = 1; return [a]");
                let outcome = programs.run(request).await.unwrap();
                assert_eq!(outcome.value, Some(json!([1])), "{outcome:?}");
            }
            programs.dispose().await;
        });
        println!("test runs_in_its_own_executable ... ok");
    }
}
