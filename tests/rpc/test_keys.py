from rpc.harness import describe, verdict


def test_hits_what_was_stored(gateway, tenant):
    asked = describe(tenant)
    assert verdict(gateway.ask(asked)) == "miss"
    gateway.fill(asked)
    assert verdict(gateway.ask(asked)) == "hit exact"
