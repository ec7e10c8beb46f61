//! By which names a server may be called (the header `Host`).
//!
//! A browser lets a page ask its own origin freely. Whoever owns a name can have it resolve to 127.0.0.1 after the page was loaded (DNS
//! rebinding): then the page reads what this server answers. The browser still sends the name, so a name that is not ours is refused. An
//! address is nobody's name, and cannot be made to resolve to something else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The names.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    all: bool,
}

impl Hosts {
    /// The names of a server that listens on an address. One that the network reaches has names that it does not know itself: without a list
    /// it takes all.
    pub(crate) fn new(names: Vec<String>, listen: IpAddr) -> Self {
        let all = names.iter().any(|name| name == "*") || (names.is_empty() && !listen.is_loopback());
        Self { names, all }
    }

    /// Whether a request may call the server so. A request without the header is not of a browser.
    pub(crate) fn allow(&self, host: Option<&[u8]>) -> bool {
        let Some(host) = host.filter(|_| !self.all) else { return true };
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if six.is_some_and(|six| six.parse::<Ipv6Addr>().is_ok()) || name.parse::<Ipv4Addr>().is_ok() {
            return true;
        }
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
    }
}
