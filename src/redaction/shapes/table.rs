//! What well-known secrets look like.
//!
//! Each shape is precise enough to be masked on sight: a prefix that its
//! issuer gives it, or a place that holds a secret and nothing else. High
//! entropy alone is no shape; commit hashes and checksums stay. Where a shape
//! needs a context, the group `secret` is what is masked.
//!
//! Word boundaries are those of ASCII, because the fast engine knows no others.

/// A quote, or one that is escaped, or none.
macro_rules! q {
    () => {
        r#"[\\"'`]{0,3}"#
    };
}

/// Names and patterns; one name may have several, one after the other.
pub(super) const SHAPES: &[(&str, &str)] = &[
    // The body has nothing but what an armoured key has, so that a program
    // that names the markers is not taken for a key.
    (
        "private-key",
        concat!(
            "-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
            r"[A-Za-z0-9+/=\s\\:,.()-]{32,}?",
            "-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
        ),
    ),
    // One that was cut off.
    (
        "private-key",
        concat!(
            "-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{32,})+",
        ),
    ),
    (
        "age-secret-key",
        r"(?-u:\b)AGE-SECRET-KEY-1[0-9A-Z]{58}(?-u:\b)",
    ),
    (
        "aws-access-key",
        r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)",
    ),
    (
        "aws-secret-key",
        concat!(
            r"(?i-u:secret_?access_?key)",
            q!(),
            r"\s*(?:[:=]|=>)\s*",
            q!(),
            r"(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
        ),
    ),
    (
        "github-token",
        r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?-u:\b)",
    ),
    (
        "gitlab-token",
        r"(?-u:\b)gl(?:pat|dt|rt|ptt|cbt|soat|ffct|imt|agent|oas)-[A-Za-z0-9_-]{20,}",
    ),
    (
        "slack-token",
        r"(?-u:\b)(?:xox[abeoprs]-[0-9]+-[A-Za-z0-9-]{8,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{32,})",
    ),
    (
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{40,})",
    ),
    (
        "stripe-key",
        r"(?-u:\b)(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{32,}=?)",
    ),
    (
        "google-api-key",
        r"(?-u:\b)(?P<secret>AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)",
    ),
    (
        "google-oauth",
        r"(?-u:\b)(?:ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28})",
    ),
    (
        "anthropic-key",
        r"(?-u:\b)sk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{20,}",
    ),
    (
        "openai-key",
        r"(?-u:\b)(?:sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{48}(?-u:\b))",
    ),
    ("groq-key", r"(?-u:\b)gsk_[A-Za-z0-9]{52}(?-u:\b)"),
    ("replicate-token", r"(?-u:\b)r8_[A-Za-z0-9]{37}(?-u:\b)"),
    ("huggingface-token", r"(?-u:\b)hf_[A-Za-z0-9]{34,}(?-u:\b)"),
    ("npm-token", r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)"),
    (
        "npm-token",
        r"(?m)^\s*//[^\s:]+(?::[0-9]+)?/\S*:_(?:authToken|password|auth)\s*=\s*(?P<secret>[A-Za-z0-9+/=_-]{8,})",
    ),
    ("pypi-token", r"(?-u:\b)pypi-AgE[A-Za-z0-9_-]{50,}"),
    ("crates-io-token", r"(?-u:\b)cio[A-Za-z0-9]{32}(?-u:\b)"),
    ("rubygems-token", r"(?-u:\b)rubygems_[a-f0-9]{48}(?-u:\b)"),
    (
        "docker-token",
        r"(?-u:\b)dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}",
    ),
    (
        "sendgrid-key",
        r"(?-u:\b)SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    ),
    ("twilio-key", r"(?-u:\b)SK[0-9a-f]{32}(?-u:\b)"),
    (
        "twilio-key",
        concat!(
            r"(?i-u:twilio[a-z_]{0,12}token)",
            q!(),
            r"\s*[:=]\s*",
            q!(),
            r"(?P<secret>[0-9a-f]{32})(?-u:\b)",
        ),
    ),
    ("mailgun-key", r"(?-u:\b)key-[0-9a-f]{32}(?-u:\b)"),
    (
        "mailchimp-key",
        r"(?-u:\b)[0-9a-f]{32}-us[0-9]{1,2}(?-u:\b)",
    ),
    (
        "digitalocean-token",
        r"(?-u:\b)do[opr]_v1_[a-f0-9]{64}(?-u:\b)",
    ),
    ("databricks-token", r"(?-u:\b)dapi[a-f0-9]{32}(?-u:\b)"),
    ("vault-token", r"(?-u:\b)hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    (
        "doppler-token",
        r"(?-u:\b)dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{40,}",
    ),
    ("linear-key", r"(?-u:\b)lin_api_[A-Za-z0-9]{40}(?-u:\b)"),
    (
        "grafana-token",
        r"(?-u:\b)glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}(?-u:\b)",
    ),
    (
        "shopify-token",
        r"(?-u:\b)shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}(?-u:\b)",
    ),
    (
        "telegram-token",
        r"(?-u:\b)[0-9]{8,10}:(?P<secret>AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)",
    ),
    (
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/[0-9]+/(?P<secret>[A-Za-z0-9_-]{60,})",
    ),
    (
        "azure-account-key",
        r"(?i-u:AccountKey)=(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    (
        "jwt",
        r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
    ),
    (
        "authorization",
        concat!(
            r"(?i-u:authorization)",
            q!(),
            r"\s*[:=]\s*",
            q!(),
            r"(?:(?i-u:bearer|token|apikey)\s+(?P<secret>[A-Za-z0-9+/=._~-]{16,}))",
        ),
    ),
    (
        "authorization",
        concat!(
            r"(?i-u:authorization)",
            q!(),
            r"\s*[:=]\s*",
            q!(),
            r"(?i-u:basic)\s+(?P<secret>[A-Za-z0-9+/]{8,}={0,2})",
        ),
    ),
    (
        "api-key-header",
        concat!(
            r"(?i-u:x-api-key|x-auth-token|x-amz-security-token)",
            q!(),
            r"\s*:\s*",
            q!(),
            r"(?P<secret>[A-Za-z0-9+/=._~-]{16,})",
        ),
    ),
    // A password that begins like a variable or a placeholder is none.
    (
        "url-credentials",
        r#"(?-u:\b)[a-z][a-z0-9+.-]*://[^\s/:@"'<>\\]*:(?P<secret>[^\s/@"'<>\\$%{*\[(][^\s/@"'<>\\]*)@[A-Za-z0-9.\[_-]"#,
    ),
    (
        "url-credentials",
        r"[?&](?i-u:password|passwd|pwd|access_token|api_key|apikey|client_secret)=(?P<secret>[A-Za-z0-9+/=._~%-]{6,})",
    ),
    // A connection string.
    (
        "password",
        r#";\s*(?i-u:password|pwd)=(?P<secret>[^\s;"'<>\\$%{*\[(][^\s;"'<>\\]{3,})"#,
    ),
    // A line of an environment file.
    (
        "password",
        r#"(?m)^[ \t]*(?:export[ \t]+)?[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE)=["']?(?P<secret>[^\s"'<>\\$%{*\[(][^\s"'<>\\]{5,})"#,
    ),
    // Quoted, in a program or in data.
    (
        "password",
        concat!(
            r"(?-u:\b)(?i-u:[a-z0-9_-]*(?:password|passwd|passphrase))",
            q!(),
            r#"\s*[:=]\s*\\?["'](?P<secret>[^\s"'<>\\$%{*\[(][^\s"'\\<>{}]{7,})\\?["']"#,
        ),
    ),
    (
        "credential",
        concat!(
            r"(?-u:\b)(?i-u:[a-z0-9_-]*(?:api_?key|client_?secret|secret_?key|access_?token|auth_?token|refresh_?token))",
            q!(),
            r#"\s*[:=]\s*\\?["'](?P<secret>[A-Za-z0-9+/=._~-]{16,})\\?["']"#,
        ),
    ),
];

// What the last two shapes say of text, for the members of a value.

/// Names of members that hold a password.
pub(super) const PASSWORD_NAME: &str = r"(?i-u:[a-z0-9_-]*(?:password|passwd|passphrase))";
/// What is taken for a password there.
pub(super) const PASSWORD_TEXT: &str = r#"[^\s"'<>\\$%{*\[(][^\s"'\\<>{}]{7,}"#;
/// Names of members that hold another credential.
pub(super) const CREDENTIAL_NAME: &str = r"(?i-u:[a-z0-9_-]*(?:api_?key|client_?secret|secret_?key|access_?token|auth_?token|refresh_?token))";
/// What is taken for one there.
pub(super) const CREDENTIAL_TEXT: &str = r"[A-Za-z0-9+/=._~-]{16,}";
