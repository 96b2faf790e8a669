//! Enrolment tokens and the address that they belong to.

use std::net::IpAddr;

/// Digits of a certificate's SHA-256 in a token.
const FINGERPRINT_DIGITS: usize = 32;

/// How the coordinator is known to be the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// By the beginning of the SHA-256 of its certificate authority's DER, in lower-case hexadecimal.
    Fingerprint(String),
    /// It is on this very machine, and speaks without TLS.
    Loopback,
}

/// Splits a token into its secret and what it says about the coordinator; the error is one sentence.
pub fn parse_token(token: &str) -> Result<(String, Trust), String> {
    let malformed = || {
        "--token: this is not an enrolment token; copy all of what `datamill worker token` printed"
            .to_owned()
    };
    let (secret, trust) = token.trim().rsplit_once('.').ok_or_else(malformed)?;
    if secret.is_empty() {
        return Err(malformed());
    }
    let trust = match trust {
        "plain" => Trust::Loopback,
        digits
            if digits.len() == FINGERPRINT_DIGITS
                && digits
                    .bytes()
                    .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) =>
        {
            Trust::Fingerprint(digits.to_owned())
        }
        _ => return Err(malformed()),
    };
    Ok((secret.to_owned(), trust))
}

/// An address such as `https://HOST:PORT`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoordinatorUrl {
    /// The whole, without a slash at its end.
    pub text: String,
    /// The host in it, an IPv6 address without brackets.
    pub host: String,
    /// Whether it begins with `https:`.
    pub is_tls: bool,
}

/// Understands the coordinator's address and refuses to speak in plain text over a network.
pub fn parse_url(url: &str) -> Result<CoordinatorUrl, String> {
    let text = url.trim().trim_end_matches('/').to_owned();
    let (is_tls, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => {
            return Err(format!(
                "`{url}` is not the address of a coordinator; write it as https://HOST:PORT"
            ));
        }
    };
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => rest.split([':', '/']).next().unwrap_or_default(),
    };
    if host.is_empty() || rest.contains(['/', '?', '#', '@']) {
        return Err(format!(
            "`{url}` is not the address of a coordinator; write it as https://HOST:PORT"
        ));
    }
    if !is_tls && !is_loopback(host) {
        return Err(format!(
            "`{url}` would send this worker's secrets over the network in plain text; use https, which `datamill serve` speaks on every address but this machine's own"
        ));
    }
    Ok(CoordinatorUrl {
        host: host.to_owned(),
        text,
        is_tls,
    })
}

/// Whether a host is this machine itself.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_the_coordinators_certificate() {
        let digits = "0123456789abcdef0123456789abcdef";
        assert_eq!(
            parse_token(&format!("s.e.cret.{digits}\n")),
            Ok(("s.e.cret".to_owned(), Trust::Fingerprint(digits.to_owned())))
        );
        assert_eq!(
            parse_token("secret.plain"),
            Ok(("secret".to_owned(), Trust::Loopback))
        );
        for wrong in ["", "secret", ".plain", "secret.0123", "secret.PLAIN"] {
            assert!(parse_token(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn plain_text_is_spoken_on_this_machine_alone() {
        for fine in [
            "http://localhost:1",
            "http://127.0.0.1:8642/",
            "http://[::1]:1",
        ] {
            assert!(parse_url(fine).is_ok_and(|url| !url.is_tls), "{fine}");
        }
        assert!(parse_url("https://lab.example:1").is_ok_and(|url| url.host == "lab.example"));
        assert!(parse_url("http://192.0.2.1:1").is_err_and(|why| why.contains("plain text")));
        for wrong in [
            "lab:1",
            "ftp://lab",
            "https://",
            "https://u@lab",
            "https://lab/x",
        ] {
            assert!(parse_url(wrong).is_err(), "{wrong}");
        }
    }
}
