// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAProblemIsEncodedWithWhatStandsBesideIt(t *testing.T) {
	type limit struct {
		Limit int `json:"limit,omitempty"`
	}
	var none *limit
	p := New(http.StatusConflict, "taken", `It is "taken".`)
	const plain = `{"title":"Conflict","status":409,"code":"taken","detail":"It is \"taken\"."}`
	for name, test := range map[string]struct {
		p     *Problem
		limit any
		want  string
	}{
		"alone":                {p, nil, plain},
		"with a nil pointer":   {p, none, plain},
		"with an empty struct": {p, &limit{}, plain},
		"with members":         {p, &limit{3}, plain[:len(plain)-1] + `,"limit":3}`},
		"with a list":          {p.With([]string{"a", "b"}), nil, plain[:len(plain)-1] + `,"problems":["a","b"]}`},
		"saying nothing else":  {p.Saying(""), nil, plain},
		"saying something":     {p.Saying("No."), nil, `{"title":"Conflict","status":409,"code":"taken","detail":"No."}`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(test.p.Encode(test.limit))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheHeaderSaysWhatAClientDoesNext(t *testing.T) {
	h := http.Header{}
	New(http.StatusUnauthorized, "unauthorized", "No.").After(1200*time.Millisecond).SetHeader(h, "here")
	want := http.Header{"Content-Type": {ContentType}, "Retry-After": {"2"}, "Www-Authenticate": {`Bearer realm="here"`}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
}

func TestAProblemIsTheOneThatItWasMadeOf(t *testing.T) {
	p := New(http.StatusConflict, "taken", "It is taken.")
	if err := fmt.Errorf("create: %w", p.Saying("acme has it.").After(time.Second)); !errors.Is(err, p) {
		t.Error("a problem with other words is another one")
	}
	if errors.Is(p, New(http.StatusConflict, "other", "")) || errors.Is(p, New(http.StatusNotFound, "taken", "")) {
		t.Error("another code or status is the same problem")
	}
}
