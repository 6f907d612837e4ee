// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"errors"
	"testing"
)

func TestThePasswordIsAskedForAtEachConnection(t *testing.T) {
	answers := []error{nil, errors.New("away")}
	o, err := redisOptions(Redis{URL: "rediss://me@host:6379", Password: func() (string, error) {
		err := answers[0]
		answers = answers[1:]
		return "word", err
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		user, password, err := o.CredentialsProviderContext(t.Context())
		if user != "me" || password != "word" || (err == nil) != want {
			t.Errorf("%q, %v", user, err)
		}
	}
	if o.TLSConfig == nil || o.TLSConfig.ServerName != "host" {
		t.Errorf("%+v", o.TLSConfig)
	}
}
