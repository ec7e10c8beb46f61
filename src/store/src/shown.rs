//! Shows an address of a server to people: without the secrets that it may have.

/// An address as people may read it: without `USER:PASSWORD@` before the host, and without a query and a fragment, which may be a token.
pub fn without_secrets(location: &str) -> String {
    let Some((scheme, rest)) = location.split_once("://") else { return location.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A port has only digits. Other text after a colon is the start of a password, which contains one of the three characters.
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_port =
        authority.starts_with('[') || authority.split_once(':').is_none_or(|(_, port)| is_number(port));
    let (host, path) = match rest.rsplit_once('@') {
        Some((_, host)) if !is_port && !authority.contains('@') => (host, ""),
        // A password may contain `@`, so the host begins after the last one.
        _ => (authority.rsplit('@').next().unwrap_or(authority), path),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// A message about an address, in which that address is shown [without secrets](without_secrets). Messages of HTTP clients repeat the address,
/// or its `USER:PASSWORD@` alone.
pub fn hide_secrets(message: &str, address: &str) -> String {
    let shown = without_secrets(address);
    if shown == address {
        return message.to_owned();
    }
    let message = message.replace(address, &shown);
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = shown.split_once("://").map_or(&*shown, |(_, host)| host);
    let host = host.split('/').next().unwrap_or_default();
    match rest.find(&format!("@{host}")) {
        Some(end) if !host.is_empty() => message.replace(&rest[..=end], ""),
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::{hide_secrets, without_secrets};

    #[test]
    fn an_address_is_shown_without_secrets() {
        let cases = [
            ("https://host:80/a@b", "https://host:80/a@b"),
            ("https://user:word@host:80/a@b", "https://host:80/a@b"),
            ("https://user:wo@rd@host", "https://host"),
            ("https://host/a?token=word#word", "https://host/a"),
            // These are no addresses, and the error must not have the password.
            ("https://user:wo/rd@host/a", "https://host/a"),
            ("https://user:wo?rd@host/a", "https://host/a"),
            ("https://user:/word@host/a", "https://host/a"),
            ("https://user:wo:12/rd@host/a", "https://host/a"),
            ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
            ("s3://bucket/a", "s3://bucket/a"),
            ("folder", "folder"),
        ];
        for (location, shown) in cases {
            assert_eq!(without_secrets(location), shown, "{location}");
        }
    }

    #[test]
    fn a_message_about_an_address_has_no_secrets() {
        let address = "https://user:wo@rd@host:80/a?token=word";
        for (message, shown) in [
            ("cannot read https://user:wo@rd@host:80/a?token=word: no", "cannot read https://host:80/a: no"),
            ("user:wo@rd@host:80 refused", "host:80 refused"),
            ("refused", "refused"),
        ] {
            assert_eq!(hide_secrets(message, address), shown);
        }
        assert_eq!(hide_secrets("https://host/a refused", "https://host/a"), "https://host/a refused");
    }
}
