package main

import "testing"

func TestTheConfigurationBesideTheGatewayIsOne(t *testing.T) {
	config, err := readConfig("gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	if config.Keys["sk-acme"] != "acme" || config.Routes["smart"][1].Provider != "backup" {
		t.Errorf("%+v", config)
	}
}
