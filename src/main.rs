use std::process::ExitCode;

fn main() -> ExitCode {
    kubectl_purge::run(std::env::args_os()).into()
}
