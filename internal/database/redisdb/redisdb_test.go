// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package redisdb

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestABadURLIsNotRepeated(t *testing.T) {
	for _, bad := range []string{"", "geheim", "http://host/0", "redis://", "redis://me:geheim@host:port", "redis://me:geheim@host/first", "redis://me:geheim@host/0?geheim=1", "redis://me:geheim@[::1"} {
		if _, err := Parse(bad); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("Parse(%q) = %v", bad, err)
		}
	}
}

func TestNobodyWaitsLongerThanForOneAnswer(t *testing.T) {
	o := must.Value(Options(Config{URL: "redis://me:word@host:6379/3", Timeout: time.Second}))(t)
	if o.Username != "me" || o.Password != "word" || o.DB != 3 || o.CredentialsProviderContext != nil {
		t.Error("the URL's details are not used")
	}
	if o.ReadTimeout != time.Second || o.DialTimeout != time.Second || o.PoolTimeout != time.Second || o.MaxRetries != -1 || !o.ContextTimeoutEnabled {
		t.Errorf("%+v", o)
	}
}

func TestThePasswordIsAskedForAtEachConnection(t *testing.T) {
	answers := []error{nil, errors.New("away")}
	o, err := Options(Config{URL: "rediss://me@host:6379", Password: func() (string, error) {
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
