// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAServerIsAskedForTheChangesThatItTellsOf(t *testing.T) {
	t.Parallel()
	const changes = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`
	type row struct {
		capabilities string
		watch        bool
		want         []string
	}
	inBubbles(t, map[string]row{
		"all":                      {changes, true, []string{`{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":true}`}},
		"one":                      {`{"tools":{},"prompts":{"listChanged":true},"resources":{}}`, true, []string{`{"promptsListChanged":true}`}},
		"none":                     {`{"tools":{}}`, true, nil},
		"nothing at all":           {`null`, true, nil},
		"a client that wants none": {changes, false, nil},
	}, func(t *testing.T, tt row) {
		s := &server{version: "2026-07-28", on: map[string]func(*asked){methods.Discover: func(a *asked) {
			a.result(`{"supportedVersions":["2026-07-28"],"capabilities":` + tt.capabilities + `}`)
		}}}
		session, err := s.dial(t, func(_ *client.HTTP, o *client.Options) { o.Watch = tt.watch })
		if err != nil || session.Capabilities == nil || session.Info != nil {
			t.Fatalf("error = %v", err)
		}
		synctest.Wait()
		var got []string
		for _, text := range s.only(methods.Listen) {
			var sent struct {
				Params struct{ Notifications json.RawMessage }
			}
			must.Succeed(t, json.Unmarshal([]byte(text), &sent))
			got = append(got, string(sent.Params.Notifications))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("it is asked for (-want +got):\n%s", diff)
		}
	})
}

func TestWhatAServerOfSessionsSaysOfItselfIsRead(t *testing.T) {
	t.Parallel()
	const said = `{"protocolVersion":"2025-03-26"}`
	type row struct{ answer, err string }
	inBubbles(t, map[string]row{
		"no more than a version": {`{"jsonrpc":"2.0","id":$ID,"result":` + said + `}`, ""},
		// The version, which has batches, is not known before.
		"a note before it, in an array": {`[` + logged + `,{"jsonrpc":"2.0","id":$ID,"result":` + said + `}]`, ""},
		"no object":                     {`{"jsonrpc":"2.0","id":$ID,"result":[]}`, `read the answer to "initialize": `},
		"nothing":                       {`{"jsonrpc":"2.0","id":$ID,"result":null}`, `the server wants protocol version "", which is not supported`},
	}, func(t *testing.T, tt row) {
		s := &server{version: "2025-03-26", on: map[string]func(*asked){methods.Initialize: saying(200, "application/json", tt.answer)}}
		session, err := s.dial(t, nil)
		if (err != nil) != (tt.err != "") || !strings.HasPrefix(fmt.Sprint(err), tt.err) && err != nil {
			t.Fatalf("error = %v", err)
		}
		if err == nil && (session.Capabilities == nil || session.Version != "2025-03-26") {
			t.Errorf("the server is %+v", session.Server)
		}
	})
}
