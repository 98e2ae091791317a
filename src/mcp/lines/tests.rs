use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};

use super::*;

type Told = Arc<Mutex<Vec<String>>>;

fn lines<R: LineRole>(longest: usize, pipe: usize) -> (Lines<R>, DuplexStream, Told) {
    let (ours, theirs) = tokio::io::duplex(pipe);
    let (read, write) = tokio::io::split(ours);
    let told = Told::default();
    let heard = told.clone();
    let report: Report = Arc::new(move |what| heard.lock().unwrap().push(what));
    (Lines::new(read, write, longest, report), theirs, told)
}

#[cfg(feature = "mcp-server")]
mod server {
    use rmcp::RoleServer;
    use rmcp::model::{ClientRequest, RequestMetaObject};

    use super::*;

    #[tokio::test]
    async fn the_arguments_of_a_call_are_kept_as_written() {
        let (mut lines, mut peer, told) = lines::<RoleServer>(LONGEST, 1 << 16);
        let arguments = r#"{"a": 1, "a": 12345678901234567890123, "b": "\ud800", "c":1e400}"#;
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":\
             {{\"name\":\"t\",\"arguments\":{arguments},\"_meta\":{{\"progressToken\":7}}}}}}\r\n"
        );
        peer.write_all(line.as_bytes()).await.unwrap();
        let (request, _) = lines.receive().await.unwrap().into_request().unwrap();
        let ClientRequest::CallToolRequest(call) = request else {
            panic!("expected a call, found {request:?}");
        };
        assert_eq!(call.params.name, "t");
        let raw = call.extensions.get::<RawArguments>().unwrap();
        assert_eq!(&*raw.0, arguments);
        let meta = call.extensions.get::<RequestMetaObject>().unwrap();
        assert!(meta.get_progress_token().is_some());
        assert_eq!(raw_arguments(line.as_bytes()).as_ref(), Some(raw));
        assert!(told.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_read_is_answered() {
        let (mut lines, mut peer, told) = lines::<RoleServer>(100, 1 << 16);
        let long = "x".repeat(300);
        let sent = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","params":"{long}","id":"3","method":"tools/list"}}"#),
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#.to_owned(),
            r#"{"id":4,"method":"ping"}"#.to_owned(),
            "hello".to_owned(),
            r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#.to_owned(),
        ];
        peer.write_all(format!("{}\n", sent.join("\n")).as_bytes())
            .await
            .unwrap();
        let (_, id) = lines.receive().await.unwrap().into_request().unwrap();
        assert_eq!(serde_json::to_value(id).unwrap(), 5);
        lines.close().await.unwrap();
        let mut text = String::new();
        peer.read_to_string(&mut text).await.unwrap();
        let answers: Vec<(Value, Value)> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
            .collect();
        assert_eq!(
            json!(answers),
            json!([
                [1, -32602],
                [2, -32700],
                ["3", -32700],
                [null, -32600],
                [4, -32600],
            ])
        );
        assert_eq!(told.lock().unwrap().len(), 6);
    }
}

#[cfg(feature = "mcp-client")]
mod client {
    use rmcp::RoleClient;
    use rmcp::model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, NumberOrString, ServerResult,
    };

    use super::*;

    fn call(name: String) -> ClientRequest {
        ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new(name)))
    }

    async fn asked(lines: &mut Lines<RoleClient>, id: i64) {
        let request = JsonRpcMessage::request(call("t".to_owned()), NumberOrString::Number(id));
        lines.send(request).await.unwrap();
    }

    #[tokio::test]
    async fn a_result_of_a_call_is_kept_whole() {
        let (mut lines, mut peer, _) = lines::<RoleClient>(LONGEST, 1 << 16);
        asked(&mut lines, 7).await;
        let result = json!({"content": [{"type": "video"}, 3], "structuredContent": null, "x": 1});
        let line = json!({"jsonrpc": "2.0", "id": "7", "result": result});
        peer.write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
        let (found, _) = lines.receive().await.unwrap().into_response().unwrap();
        let ServerResult::CustomResult(found) = found else {
            panic!("expected the result as it is, found {found:?}");
        };
        assert_eq!(found.0, result);
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_an_error_of_its_call() {
        let (mut lines, mut peer, told) = lines::<RoleClient>(200, 1 << 16);
        for id in 0..5 {
            asked(&mut lines, id).await;
        }
        let long = "y".repeat(1000);
        let sent = [
            &br#"{"jsonrpc":"2.0","id":0,"result":{"content":["\ud800"]}}"#[..],
            br#"{"jsonrpc":"2.0","id":1,"result":{"content":[1e400]}}"#,
            br#"{"jsonrpc":"2.0","result":{"id":9},"id":2,"error""#,
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\xff\"}",
            &format!(r#"{{"jsonrpc":"2.0","result":"{long}","id":4}}"#).into_bytes(),
        ];
        for line in sent {
            peer.write_all(line).await.unwrap();
            peer.write_all(b"\n\n").await.unwrap();
        }
        for expected in 0..5 {
            let (error, id) = lines.receive().await.unwrap().into_error().unwrap();
            assert_eq!(serde_json::to_value(id).unwrap(), expected);
            assert!(is_unreadable(&error), "{error:?}");
        }
        assert_eq!(told.lock().unwrap().len(), 5);
        drop(peer);
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn messages_are_whole_and_in_order_whoever_gives_up() {
        let (mut lines, peer, _) = lines::<RoleClient>(LONGEST, 16);
        let mut sends = Vec::new();
        for id in 0..200 {
            let item = JsonRpcMessage::request(call(format!("t{id}")), NumberOrString::Number(id));
            sends.push(Some(tokio::spawn(lines.send(item))));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        // The first ones were handed over, the last ones were not.
        for given_up in [0, 3, 150, 199] {
            sends[given_up].take().unwrap().abort();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut heard = BufReader::new(peer).lines();
        for id in (0..199).filter(|id| *id != 150) {
            let line = heard.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["id"], id);
        }
        lines.close().await.unwrap();
        assert_eq!(heard.next_line().await.unwrap(), None);
    }
}
