//! Turns the environment of a remote store into what is missing in it, before the first request: which variables to set.
//!
//! Without keys, the `object_store` crate asks the metadata service of the machine, waits for it, and then reports that service's address.
//! Most machines have none, so here it is asked only if a variable says so.

use std::path::PathBuf;

use object_store::ObjectStoreScheme;

use crate::shown::without_secrets;

/// What a kind of storage takes from the environment: names of variables in lower case.
struct Kind {
    /// Each gives credentials, or says that none are needed, or where the machine's are.
    credentials: &'static [&'static str],
    endpoints: &'static [&'static str],
    /// Must be `true` for an endpoint without TLS.
    allow_http: &'static str,
    /// What to set where no credentials are given.
    needs: &'static str,
}

const S3: Kind = Kind {
    credentials: &[
        "aws_access_key_id",
        "aws_web_identity_token_file",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_skip_signature",
        "aws_metadata_endpoint",
    ],
    endpoints: &["aws_endpoint", "aws_endpoint_url", "aws_endpoint_url_s3"],
    allow_http: "aws_allow_http",
    needs: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN where the keys are temporary), or \
            AWS_SKIP_SIGNATURE=true if anybody may read it, or AWS_METADATA_ENDPOINT=http://169.254.169.254 to take those of the \
            machine (EC2)",
};

const GOOGLE: Kind = Kind {
    credentials: &[
        "google_service_account",
        "google_service_account_path",
        "google_service_account_key",
        "google_application_credentials",
        "google_bearer_token",
        "google_skip_signature",
        "gce_metadata_host",
        "gce_metadata_root",
    ],
    endpoints: &["google_base_url"],
    allow_http: "google_allow_http",
    needs: "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT to a file with a key, or GOOGLE_SKIP_SIGNATURE=true if \
            anybody may read it, or GCE_METADATA_HOST=metadata.google.internal to take those of the machine",
};

const AZURE: Kind = Kind {
    credentials: &[
        "azure_storage_account_key",
        "azure_storage_access_key",
        "azure_storage_master_key",
        "azure_storage_client_secret",
        "azure_client_secret",
        "azure_storage_sas_key",
        "azure_storage_sas_token",
        "azure_storage_token",
        "azure_federated_token_file",
        "azure_storage_use_emulator",
        "azure_use_azure_cli",
        "azure_skip_signature",
        "azure_msi_endpoint",
        "azure_identity_endpoint",
    ],
    endpoints: &["azure_storage_endpoint", "azure_endpoint"],
    allow_http: "azure_allow_http",
    needs: "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_TOKEN, or \
            AZURE_SKIP_SIGNATURE=true if anybody may read it, or AZURE_MSI_ENDPOINT to take those of the machine",
};

/// What is known about a kind of storage; `None` for HTTP servers.
fn kind(scheme: &ObjectStoreScheme) -> Option<&'static Kind> {
    match scheme {
        ObjectStoreScheme::AmazonS3 => Some(&S3),
        ObjectStoreScheme::GoogleCloudStorage => Some(&GOOGLE),
        ObjectStoreScheme::MicrosoftAzure => Some(&AZURE),
        _ => None,
    }
}

/// The value of one of these variables, and its name as people write it.
fn given<'o>(options: &'o [(String, String)], names: &[&str]) -> Option<(String, &'o str)> {
    let is_given = |(key, value): &&(String, String)| names.contains(&key.as_str()) && !value.is_empty();
    options.iter().find(is_given).map(|(key, value)| (key.to_ascii_uppercase(), value.as_str()))
}

/// Refuses an environment with which no request can succeed, and says what to set.
///
/// # Errors
/// There are no credentials, or the endpoint is not an address or needs the permission to do without TLS.
pub(crate) fn check(scheme: &ObjectStoreScheme, options: &[(String, String)]) -> Result<(), String> {
    let Some(kind) = kind(scheme) else { return Ok(()) };
    if let Some((name, endpoint)) = given(options, kind.endpoints) {
        let shown = without_secrets(endpoint);
        // Without `://` it is no address, but it may have a password.
        let shown = match shown.contains("://") {
            true => shown,
            false => shown.rsplit('@').next().unwrap_or_default().to_owned(),
        };
        if !endpoint.starts_with("https://") && !endpoint.starts_with("http://") {
            return Err(format!(
                "{name} is {shown:?}, expected an address that begins with https:// or http://"
            ));
        }
        let allows = given(options, &[kind.allow_http]).is_some_and(|(_, value)| is_true(value));
        if endpoint.starts_with("http://") && !allows {
            let allow_http = kind.allow_http.to_ascii_uppercase();
            return Err(format!("{name} is {shown}, which has no TLS: set {allow_http}=true to use it"));
        }
    }
    if given(options, kind.credentials).is_none() && !has_login(scheme) {
        return Err(format!("no credentials: set {}", kind.needs));
    }
    if matches!(scheme, ObjectStoreScheme::AmazonS3)
        && given(options, &["aws_access_key_id"]).is_some()
        && given(options, &["aws_secret_access_key"]).is_none()
    {
        return Err("no credentials: AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not".to_owned());
    }
    Ok(())
}

/// Whether the user has logged in with Google's tools, whose file the crate reads.
fn has_login(scheme: &ObjectStoreScheme) -> bool {
    let file = ".config/gcloud/application_default_credentials.json";
    matches!(scheme, ObjectStoreScheme::GoogleCloudStorage)
        && std::env::var_os("HOME").is_some_and(|home| PathBuf::from(home).join(file).exists())
}

fn is_true(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
}

/// What to look at if a request fails: the endpoint and the credentials.
pub(crate) fn hint(scheme: &ObjectStoreScheme, options: &[(String, String)]) -> String {
    let Some(kind) = kind(scheme) else { return String::new() };
    let endpoint = given(options, kind.endpoints)
        .map(|(name, endpoint)| format!("the endpoint is {} ({name})", without_secrets(endpoint)));
    let credentials = given(options, kind.credentials).map(|(name, _)| format!("credentials by {name}"));
    let parts: Vec<String> = endpoint.into_iter().chain(credentials).collect();
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_to_set() {
        let s3 = |options: &[(&str, &str)]| {
            let options: Vec<_> =
                options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            check(&ObjectStoreScheme::AmazonS3, &options)
        };
        let keys = [("aws_access_key_id", "nobody"), ("aws_secret_access_key", "nothing")];
        let with = |more: &[(&'static str, &'static str)]| s3(&[&keys[..], more].concat());
        assert_eq!(with(&[]), Ok(()));
        assert_eq!(s3(&[("aws_skip_signature", "true")]), Ok(()));
        assert!(s3(&keys[..1]).unwrap_err().contains("AWS_SECRET_ACCESS_KEY is not"));
        let missing = s3(&[("aws_region", "us-east-1")]).unwrap_err();
        assert!(missing.contains("no credentials: set AWS_ACCESS_KEY_ID"), "{missing}");
        let plain = with(&[("aws_endpoint", "http://user:secret@localhost:9000")]).unwrap_err();
        assert!(plain.contains("AWS_ENDPOINT is http://localhost:9000"), "{plain}");
        assert!(plain.contains("AWS_ALLOW_HTTP=true") && !plain.contains("secret"), "{plain}");
        let allowed = [("aws_endpoint", "http://localhost:9000"), ("aws_allow_http", "true")];
        assert_eq!(with(&allowed), Ok(()));
        let bare = with(&[("aws_endpoint_url", "localhost:9000")]).unwrap_err();
        assert!(bare.contains("AWS_ENDPOINT_URL is \"localhost:9000\", expected an address"), "{bare}");
        for (scheme, says) in [
            (ObjectStoreScheme::MicrosoftAzure, "AZURE_STORAGE_ACCOUNT_KEY"),
            (ObjectStoreScheme::GoogleCloudStorage, "GOOGLE_APPLICATION_CREDENTIALS"),
        ] {
            if !has_login(&scheme) {
                assert!(check(&scheme, &[]).unwrap_err().contains(says));
            }
        }
        assert_eq!(check(&ObjectStoreScheme::Http, &[]), Ok(()));
    }
}
