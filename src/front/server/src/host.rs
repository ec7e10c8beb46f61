//! Checks the header `Host` of a request.
//!
//! A browser lets a page send requests to its own origin freely. The owner of a domain can have its name resolve to 127.0.0.1 after the
//! page was loaded (DNS rebinding); then the page reads the answers of this server. The browser still sends the domain's name, so the
//! server refuses names that it does not know. It accepts any IP address: an address cannot be made to resolve to another one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The accepted names.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    all: bool,
}

impl Hosts {
    /// The names of a server that listens on an address. Without a list, a server that the network can reach accepts all names, since it
    /// does not know its own.
    pub(crate) fn new(names: Vec<String>, listen: IpAddr) -> Self {
        // `::ffff:127.0.0.1` is a loopback address too.
        let listen = listen.to_canonical();
        let all = names.iter().any(|name| name == "*") || (names.is_empty() && !listen.is_loopback());
        Self { names, all }
    }

    /// Whether the server accepts this header. A request without the header does not come from a browser, and is accepted.
    pub(crate) fn allow(&self, host: Option<&[u8]>) -> bool {
        let Some(host) = host.filter(|_| !self.all) else { return true };
        let Ok(host) = std::str::from_utf8(host) else { return false };
        // The last colon of `[::1]` is in the address, and `1]` after it is not a number.
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if six.is_some_and(|six| six.parse::<Ipv6Addr>().is_ok()) || name.parse::<Ipv4Addr>().is_ok() {
            return true;
        }
        // A name with a dot at its end is the same name, fully qualified.
        let name = name.strip_suffix('.').unwrap_or(name);
        name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str], listen: &str) -> Hosts {
        Hosts::new(names.iter().map(|name| (*name).to_owned()).collect(), listen.parse().unwrap())
    }

    #[test]
    fn a_name_must_be_ours_and_an_address_may_be_any() {
        let local = hosts(&["symbols.example"], "127.0.0.1");
        for host in [
            "localhost",
            "LOCALHOST:3977",
            "127.0.0.1:1",
            "[::1]:80",
            "[::1]",
            "10.0.0.1",
            "Symbols.example.:8",
        ] {
            assert!(local.allow(Some(host.as_bytes())), "{host}");
        }
        for host in [
            "evil.example:3977",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "::1",
            "[evil]",
            "",
            ":3977",
            "a:b",
        ] {
            assert!(!local.allow(Some(host.as_bytes())), "{host}");
        }
        assert!(!local.allow(Some(b"\xff")));
        assert!(local.allow(None));
    }

    #[test]
    fn a_server_of_the_network_takes_every_name_unless_it_has_a_list() {
        assert!(hosts(&[], "0.0.0.0").allow(Some(b"symbols.example")));
        assert!(!hosts(&["other"], "0.0.0.0").allow(Some(b"symbols.example")));
        assert!(hosts(&["*"], "::1").allow(Some(b"symbols.example")));
        assert!(!hosts(&[], "::1").allow(Some(b"symbols.example")));
        assert!(!hosts(&[], "::ffff:127.0.0.1").allow(Some(b"symbols.example")));
        assert!(hosts(&[], "::ffff:10.0.0.1").allow(Some(b"symbols.example")));
    }
}
