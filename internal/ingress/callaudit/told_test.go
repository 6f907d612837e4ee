// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// TestAStreamKeepsOneOfTheCallsThatABridgeTellsOf has more than any stream should
// keep: the access log names one, and their number.
func TestAStreamKeepsOneOfTheCallsThatABridgeTellsOf(t *testing.T) {
	call := func(tool string, status audit.Status) audit.Call {
		return audit.Call{Tool: tool, Status: status, ParamKeys: []string{"a", "b"}}
	}
	good, failed := call("good", audit.Success), call("failed", audit.ToolError)
	for name, tt := range map[string]struct {
		told  []audit.Trailer
		shown string
		more  int
	}{
		"none":                    {nil, "", 0},
		"one":                     {[]audit.Trailer{{Calls: []audit.Call{good}}}, "good", 0},
		"the first of good ones":  {[]audit.Trailer{{Calls: []audit.Call{call("first", audit.Success), good}}}, "first", 1},
		"the first that failed":   {[]audit.Trailer{{Calls: []audit.Call{good}}, {Calls: []audit.Call{failed, good}}}, "failed", 2},
		"those that were dropped": {[]audit.Trailer{{Calls: []audit.Call{good}, Dropped: 7}, {Calls: []audit.Call{good}, Dropped: 1}}, "good", 9},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Request{}
			for _, told := range tt.told {
				r.keepTold(told)
			}
			var want []audit.Call
			if tt.shown != "" {
				c := r.Told().Calls[0]
				if c.Tool != tt.shown || c.ParamKeys != nil {
					t.Errorf("%+v is shown", c)
				}
				want = []audit.Call{c}
			}
			if diff := cmp.Diff(audit.Trailer{Calls: want, Dropped: tt.more}, r.Told()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
