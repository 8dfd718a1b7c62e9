import pytest

from conformance.kube.proxy import Proxy, choose
from conformance.model.errors import UsageError

FAR = "https://api.example:6443"
BOTH = {"HTTPS_PROXY": "http://proxy.example:3128", "HTTP_PROXY": "http://plain.example:3128"}


def test_the_variable_for_the_scheme_of_the_server_counts() -> None:
    assert choose(FAR, None, environ=BOTH) == Proxy(
        url="http://proxy.example:3128", source="HTTPS_PROXY"
    )
    assert choose("http://api.example", None, environ=BOTH) == Proxy(
        url="http://plain.example:3128", source="HTTP_PROXY"
    )
    assert choose(FAR, None, environ={}) is None
    # kubectl does not know this one.
    assert choose(FAR, None, environ={"ALL_PROXY": "http://proxy.example:3128"}) is None


@pytest.mark.parametrize(
    "server", ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"]
)
def test_this_machine_is_never_reached_through_the_proxy_of_the_environment(server: str) -> None:
    assert choose(server, None, environ=BOTH) is None
    given = choose(server, "http://proxy.example:1", environ={"NO_PROXY": "*"})
    assert given is not None
    assert given.source == "proxy-url in the kubeconfig"


@pytest.mark.parametrize(
    ("no_proxy", "server", "direct"),
    [
        ("*", FAR, True),
        ("api.example", FAR, True),
        ("example", FAR, True),
        (".example", FAR, True),
        ("other, .example", FAR, True),
        ("api.example:6443", FAR, True),
        ("api.example:443", FAR, False),
        ("pi.example", FAR, False),
        (".api.example", FAR, False),
        ("10.0.0.0/8", "https://10.1.2.3:6443", True),
        ("10.1.2.3", "https://10.1.2.3:6443", True),
        ("10.0.0.0/8", "https://11.1.2.3", False),
        ("1.2.3", "https://10.1.2.3", False),
        ("", FAR, False),
    ],
)
def test_no_proxy_names_servers_as_go_reads_it(no_proxy: str, server: str, direct: bool) -> None:
    chosen = choose(server, None, environ={**BOTH, "NO_PROXY": no_proxy})
    assert (chosen is None) is direct


def test_a_proxy_is_told_without_its_password() -> None:
    chosen = choose(FAR, None, environ={"https_proxy": "http://me:secret@proxy.example:3128"})
    assert str(chosen) == "the proxy http://proxy.example:3128 of https_proxy"


def test_a_variable_may_name_host_and_port_alone() -> None:
    chosen = choose(FAR, None, environ={"HTTPS_PROXY": "proxy.example:3128"})
    assert chosen is not None
    assert chosen.url == "http://proxy.example:3128"


@pytest.mark.parametrize("value", ["http://", "ftp://proxy.example", "http://proxy:port"])
def test_what_is_no_proxy_is_refused_by_the_name_of_its_variable(value: str) -> None:
    with pytest.raises(UsageError, match=r"HTTPS_PROXY is .*expected a URL of a proxy"):
        choose(FAR, None, environ={"HTTPS_PROXY": value})
