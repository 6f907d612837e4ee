// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// recorded is an exchange that writes down what it is told.
func recorded(x *Call) *[]string {
	var notes []string
	x.Ctx = context.Background()
	x.ToClient = func(_ context.Context, method string, params mcp.Params) (mcp.Result, error) {
		b, err := json.Marshal(params)
		if err != nil {
			panic(err)
		}
		notes = append(notes, method+" "+string(b))
		return nil, nil
	}
	return &notes
}

// TestWhatComesInAnAnswerIsToldToTheClient gives a call the messages of its answer.
func TestWhatComesInAnAnswerIsToldToTheClient(t *testing.T) {
	x := &Call{Serial: "9", Progress: progressToken{Token: 42, Alias: "hb-1"}}
	notes := recorded(x)
	for method, want := range map[string]bool{methods.Progress: true, methods.LogMessage: true, methods.ToolsChanged: false, methods.ResourceUpdated: false} {
		if got := x.Notified(method, json.RawMessage(`{"progressToken":"hb-1","level":"info"}`)); got != want {
			t.Errorf("%s belongs to the call: %t", method, got)
		}
	}
	slices.Sort(*notes)
	want := []string{`notifications/message {"progressToken":"hb-1","level":"info"}`, `notifications/progress {"level":"info","progressToken":42}`}
	if diff := cmp.Diff(want, *notes); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// TestADeliveryKnowsHowFarItHasCome follows a request that is sent again after its server did not take it.
func TestADeliveryKnowsHowFarItHasCome(t *testing.T) {
	x := &Call{}
	for _, step := range []struct {
		name         string
		do           func()
		notDelivered bool
		result       bool
	}{
		{"at first", func() {}, true, false},
		{"on its way", x.Sending, false, false},
		{"refused", x.Refused, true, false},
		{"on its way again", x.Sending, false, false},
		{"answered", func() { must.Succeed(t, x.Answered(t.Context(), json.RawMessage(`{}`))) }, false, true},
		{"answered by an error", func() { must.Succeed(t, x.Answered(t.Context(), nil)) }, false, false},
	} {
		step.do()
		if x.Delivery.NotDelivered() != step.notDelivered || (x.Delivery.Result() != nil) != step.result {
			t.Errorf("%s: not delivered %t, result %s", step.name, x.Delivery.NotDelivered(), x.Delivery.Result())
		}
	}
}

func TestLogMessagesOfALegacyServerAreFiltered(t *testing.T) {
	tests := map[string]struct {
		level, message string
		want           bool
	}{
		"none without a level": {"", "emergency", false},
		"the level itself":     {"warning", "warning", true},
		"what is more severe":  {"warning", "error", true},
		"not what is less":     {"warning", "info", false},
		"not an unknown level": {"debug", "loud", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := &Call{Log: LogFilter{Filter: true, Level: tt.level}}
			notes := recorded(x)
			x.Notify(methods.LogMessage, json.RawMessage(`{"level":"`+tt.message+`","data":1}`))
			if got := len(*notes) == 1; got != tt.want {
				t.Errorf("delivered = %v, want %v", got, tt.want)
			}
		})
	}
}
