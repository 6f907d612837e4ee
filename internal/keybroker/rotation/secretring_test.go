// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestParseRing(t *testing.T) {
	for _, test := range []struct {
		name string
		data map[string]string
		want RingState
		err  string
	}{
		{"without current the highest is", map[string]string{"1": canary, "10": canary, "9": canary, "authority": canary}, local(10, 1, 1, 9, 10), ""},
		{"both files say otherwise", map[string]string{"1": canary, "2": canary, "3": canary, "current": "2\n", "minimum": "2"}, local(2, 2, 1, 2, 3), ""},
		{"a generation of login keys", map[string]string{"1": canary, "login": "3\n"}, local(1, 1, 1), ""},
		{"the first generation of login keys", map[string]string{"1": canary, "login": "0"}, local(1, 1, 1), ""},
		{"a generation that is not a number", map[string]string{"1": canary, "login": canary}, RingState{}, `the content of "login" is not a number`},
		{"an empty generation", map[string]string{"1": canary, "login": ""}, RingState{}, `the content of "login" is not a number`},
		{"no version", map[string]string{"authority": canary}, RingState{}, "there is no master key"},
		{"another file", map[string]string{"1": canary, "01": canary}, RingState{}, `"01" is neither a version`},
		{"a version that no int32 holds", map[string]string{"2147483648": canary}, RingState{}, "neither a version"},
		{"current is not a number", map[string]string{"1": canary, "current": canary}, RingState{}, `the content of "current" is not a version`},
		{"current is not there", map[string]string{"1": canary, "current": "2"}, RingState{}, "contradicts itself"},
		{"the minimum is above current", map[string]string{"1": canary, "2": canary, "current": "1", "minimum": "2"}, RingState{}, "contradicts itself"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseRing(ringSecret(test.data).Data)
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), canary)) {
				t.Errorf("error %v, want %q and nothing quoted", err, test.err)
			}
			if test.err == "" && err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ringOf returns a memory with a ring, and the ring.
func ringOf(t *testing.T, data map[string]string) (*storetest.Memory, *SecretRing) {
	t.Helper()
	m := storetest.New()
	must.Value(m.CreateSecret(t.Context(), ringSecret(data)))(t)
	return m, &SecretRing{Secrets: m, Namespace: system, Name: ringRef, Random: rand.Reader}
}

func TestAVersionIsAddedWithTheOldOnePinned(t *testing.T) {
	m, ring := ringOf(t, map[string]string{"1": canary, "authority": "a"})
	key := bytes.Repeat([]byte{7}, envelope.KeySize)
	ring.Random = bytes.NewReader(append(bytes.Clone(key), bytes.Repeat([]byte{8}, envelope.KeySize)...))
	state := must.Value(ring.State(t.Context()))(t)
	must.Succeed(t, ring.Do(t.Context(), StepAdd, state))
	want := map[string]string{"1": canary, "2": base64.StdEncoding.EncodeToString(key), "current": "1", "authority": "a"}
	if diff := cmp.Diff(want, texts(storetest.CopyOf(t, m, system, ringRef).Data)); diff != "" {
		t.Errorf("the ring (-want +got):\n%s", diff)
	}
	// What was read is not what is there any more.
	if err := ring.Do(t.Context(), StepAdd, state); !errors.Is(err, ErrOvertaken) {
		t.Errorf("a second write after one read: %v", err)
	}
}

func TestWithoutRandomnessNothingIsAdded(t *testing.T) {
	m, ring := ringOf(t, map[string]string{"1": canary})
	ring.Random = bytes.NewReader(make([]byte, envelope.KeySize-1))
	state := must.Value(ring.State(t.Context()))(t)
	if err := ring.Do(t.Context(), StepAdd, state); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff(map[string]string{"1": canary}, texts(storetest.CopyOf(t, m, system, ringRef).Data)); diff != "" {
		t.Errorf("the ring (-want +got):\n%s", diff)
	}
}

func TestARingThatIsNoSecretSaysWhichFlag(t *testing.T) {
	ring := &SecretRing{Secrets: storetest.New(), Namespace: system, Name: ringRef}
	if _, err := ring.State(t.Context()); err == nil || !strings.Contains(err.Error(), `--secret=""`) {
		t.Errorf("error %v", err)
	}
}
