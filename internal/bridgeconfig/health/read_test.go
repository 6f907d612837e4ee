// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// reportOf returns a report with these servers, each without anything.
func reportOf(n int) string {
	var servers []string
	for i := range n {
		servers = append(servers, fmt.Sprintf(`"%d":{}`, i))
	}
	return `{"status":"healthy","tools":1,"servers":{` + strings.Join(servers, ",") + `}}`
}

func TestReadRefusesWhatNoBridgeReports(t *testing.T) {
	long := strings.Repeat("a", 1<<10)
	for name, tt := range map[string]struct{ report, want string }{
		"more servers than a bridge has": {reportOf(MaxServers + 1), "more than 64 servers"},
		"26,642 servers":                 {reportOf(26_642), "more than 64 servers"},
		"a server with a long name":      {`{"status":"healthy","servers":{"` + long + `":{}}}`, "the name of a server is longer than 64 bytes"},
		"another status":                 {`{"status":"suspended"}`, `status "suspended" is unknown`},
		"no status":                      {`{}`, `status "" is unknown`},
		"a negative number of tools":     {`{"status":"healthy","tools":-1}`, "-1 tools"},
		"a list of servers":              {`{"status":"healthy","servers":[]}`, "the servers are not an object"},
		"a server that is no object":     {`{"status":"healthy","servers":{"a":1}}`, "cannot unmarshal number"},
		"a collision that is no object":  {`{"status":"healthy","renamed":[1]}`, "cannot unmarshal number"},
		"a list":                         {`[]`, "cannot unmarshal array"},
		"nothing":                        {``, "unexpected end of JSON input"},
		"a time that is long":            {`{"status":"healthy","servers":{"a":{"since":"` + long + `"}}}`, "parsing time"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read([]byte(tt.report))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 2*errorLimit {
				t.Errorf("%v, %.300v; want an error that has %q", got, err, tt.want)
			}
		})
	}
}

func TestReadShortensWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("é", 5000)
	server, err := json.Marshal(Server{
		Status: Status(long), Transport: long, Error: long, Reason: long, ConnectURL: "https://example.com/" + long,
	})
	if err != nil {
		t.Fatal(err)
	}
	renamed := must.Value(json.Marshal(Renamed{Kind: long, Name: long, Server: long, Original: long}))(t)
	got, err := Read(fmt.Appendf(nil, `{"status":"healthy","secretsRevision":%q,"servers":{"a":%s},"renamed":[%s{}]}`,
		long, server, strings.Repeat(string(renamed)+",", 40)))
	if err != nil {
		t.Fatal(err)
	}
	cut := func(n int) string { return long[:n/2*2] }
	want := Report{
		Status: Healthy, SecretsRevision: cut(maxWord),
		Servers: map[string]Server{"a": {Status: Status(cut(maxWord)), Transport: cut(maxWord), Error: cut(errorLimit), Reason: cut(maxWord)}},
	}
	for range maxRenamed {
		want.Renamed = append(want.Renamed, Renamed{Kind: cut(maxWord), Name: cut(maxName), Server: cut(maxServerName), Original: cut(originalLimit)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestReadGivesWhatABridgeReports reads the largest report of a bridge.
func TestReadGivesWhatABridgeReports(t *testing.T) {
	servers := map[string]Server{}
	for i := range MaxServers {
		at := time.Date(2026, 1, 2, 3, 4, i%60, 0, time.UTC)
		s := New(at).After(Probe{At: at, Latency: time.Second, Failure: strings.Repeat("<", errorLimit)})
		s.Transport, s.Reason, s.LastUsed = "streamable-http", ReasonLoginRequired, &at
		s.ConnectURL = "https://bridge.example.com/u/alice/connect/" + strings.Repeat("s", 32)
		servers[fmt.Sprintf("%s-%02d", strings.Repeat("s", 29), i)] = s
	}
	want := Summarize(servers)
	want.SecretsRevision, want.Busy = "0011223344556677", 3
	for range maxRenamed {
		want.Renamed = append(want.Renamed, NewRenamed("resource template", strings.Repeat("n", 161), strings.Repeat("s", 32), strings.Repeat("o", 200)))
	}
	text := must.Value(json.Marshal(want))(t)
	got, err := Read(text)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, none := range []string{
		`{"status":"healthy"}`, `{"status":"healthy","servers":null,"renamed":null}`, `{"status":"healthy","servers":{},"renamed":[]}`,
	} {
		if got, err := Read([]byte(none)); err != nil || got.Servers == nil || len(got.Servers) != 0 || len(got.Renamed) != 0 {
			t.Errorf("%s: %v, %v", none, got, err)
		}
	}
}
