// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestParseTakesWhatTheChartRenders reads what the chart's own tests hold it to.
func TestParseTakesWhatTheChartRenders(t *testing.T) {
	for _, name := range []string{"login", "login-file", "login-tokens"} {
		t.Run(name, func(t *testing.T) {
			rendered := must.Value(os.ReadFile("../../../hack/helm/chart/testdata/" + name + ".golden.yaml"))(t)
			s := must.Value(Parse(oauthOf(t, rendered)))(t)
			if (s.Server == nil) != (name == "login-tokens") {
				t.Errorf("the server is %+v", s.Server)
			}
		})
	}
}

// oauthOf returns what the ConfigMap hosted-bridge-oauth has.
func oauthOf(t *testing.T, manifests []byte) []byte {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(manifests))
	for {
		var object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			t.Fatal("there is no ConfigMap hosted-bridge-oauth")
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Metadata.Name == "hosted-bridge-oauth" {
			return []byte(object.Data["oauth.yaml"])
		}
	}
}

// TestTheChartsDefaultsAreThoseOfTheFile has a server of which the chart's values
// say nothing but what they must.
func TestTheChartsDefaultsAreThoseOfTheFile(t *testing.T) {
	rendered := must.Value(os.ReadFile("../../../hack/helm/chart/testdata/login-file.golden.yaml"))(t)
	got := must.Value(Parse(oauthOf(t, rendered)))(t)
	want := defaultServer()
	want.Store, want.Providers = got.Server.Store, got.Server.Providers
	if diff := cmp.Diff(&want, got.Server, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("server (-file +chart):\n%s", diff)
	}
}

// TestAnOriginIsWhatTheChartTakesForOne reads the examples that the chart's own
// test reads. The chart leaves out a slash at the end.
func TestAnOriginIsWhatTheChartTakesForOne(t *testing.T) {
	text := must.Value(os.ReadFile("../../../hack/helm/chart/testdata/origins.yaml"))(t)
	var origins struct{ Taken, Refused []string }
	if err := yaml.Unmarshal(text, &origins); err != nil || len(origins.Taken) == 0 || len(origins.Refused) == 0 {
		t.Fatalf("the examples are %+v: %v", origins, err)
	}
	parse := func(origin string) error {
		_, err := Parse([]byte("publicURL: '" + strings.TrimSuffix(origin, "/") + "'\nissuers: [{issuer: 'https://login.example.com'}]\n"))
		return err
	}
	for _, origin := range origins.Taken {
		if err := parse(origin); err != nil {
			t.Error(err)
		}
	}
	for _, origin := range origins.Refused {
		if err := parse(origin); err == nil || !strings.Contains(err.Error(), "publicURL must be an origin") {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
