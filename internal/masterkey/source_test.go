// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// A whole rotation, as two replicas see it that read the ring at different
// times.
func TestARotationInterruptsNothing(t *testing.T) {
	one, two, authority := encoded(1), encoded(2), encoded(9)
	dir := write(t, map[string]string{"1": one, "authority": authority})
	fast, slow := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	reload := func(s *Source) {
		t.Helper()
		must.Succeed(t, s.Reload(t.Context()))
	}
	old := seal(t, fast.Keys())

	// The version is added, and seals nothing yet.
	rewrite(t, dir, map[string]string{"1": one, "2": two, "current": "1", "authority": authority})
	reload(fast)
	mustOpen(t, slow.Keys(), seal(t, fast.Keys()))
	reload(slow)

	// It becomes current.
	rewrite(t, dir, map[string]string{"1": one, "2": two, "current": "2", "authority": authority})
	reload(fast)
	mustOpen(t, slow.Keys(), seal(t, fast.Keys()))
	if key := sealedBy(t, seal(t, fast.Keys())); key != "local:2" {
		t.Errorf("sealed by %s, want local:2", key)
	}
	mustOpen(t, fast.Keys(), old)
	rewrapped, changed, err := envelope.Rewrap(t.Context(), rand.Reader, alice(t, fast.Keys()), "TOKEN", old)
	if err != nil || !changed {
		t.Fatalf("Rewrap: %v, %v", changed, err)
	}
	mustOpen(t, slow.Keys(), rewrapped)
	reload(slow)

	// The old one is retired, and destroyed.
	rewrite(t, dir, map[string]string{"1": one, "2": two, "minimum": "2", "authority": authority})
	reload(fast)
	if _, err := envelope.Open(t.Context(), alice(t, fast.Keys()), "TOKEN", old); !errors.Is(err, envelope.ErrRetiredKeyVersion) {
		t.Errorf("what a retired version sealed: %v", err)
	}
	rewrite(t, dir, map[string]string{"2": two, "authority": authority})
	reload(fast)
	reload(slow)
	mustOpen(t, fast.Keys(), rewrapped)
	if diff := cmp.Diff(Status{ProviderLocal, []uint32{2}, 2, 1}, slow.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if !bytes.Equal(fast.Authority().CertificatePEM(), open(t, Options{Dir: dir}).Authority().CertificatePEM()) {
		t.Error("the rotation has changed the authority")
	}
}

func TestTheAuthorityIsThatOfItsFile(t *testing.T) {
	s := open(t, Options{Dir: write(t, map[string]string{"1": encoded(1), "authority": encoded(9)})})
	k := must.Value(parseKey(encoded(9)))(t)
	want := must.Value(pki.NewAuthority(k))(t)
	if !bytes.Equal(s.Authority().CertificatePEM(), want.CertificatePEM()) {
		t.Error("another authority")
	}
}

func TestTheGenerationOfLoginKeysFollowsItsFile(t *testing.T) {
	ring := func(login string) map[string]string {
		files := map[string]string{"1": encoded(1), "authority": encoded(9), "login": login}
		if login == "" {
			delete(files, "login")
		}
		return files
	}
	dir, log := write(t, ring("")), &logtest.Log{}
	s := open(t, Options{Dir: dir, Log: textLogger(log)})
	sealed := seal(t, s.Keys())
	if got := s.LoginGeneration(); got != 0 {
		t.Errorf("%d without the file", got)
	}
	for _, test := range []struct {
		content string
		want    uint32
		good    bool
	}{{"0", 0, true}, {"1\n", 1, true}, {"12", 12, true}, {"one", 12, false}, {"13", 13, true}, {"", 0, true}} {
		changed, before := s.Changed(), s.LoginGeneration()
		rewrite(t, dir, ring(test.content))
		if err := s.Reload(t.Context()); (err == nil) != test.good {
			t.Errorf("%q: error %v", test.content, err)
		}
		if got := s.LoginGeneration(); got != test.want {
			t.Errorf("%q: %d, want %d", test.content, got, test.want)
		}
		select {
		case <-changed:
			if before == test.want {
				t.Errorf("%q: a change is announced where nothing changed", test.content)
			}
		default:
			if before != test.want {
				t.Errorf("%q: no change is announced", test.content)
			}
		}
	}
	// Nothing that is sealed has to do with it.
	mustOpen(t, s.Keys(), sealed)
	if !strings.Contains(log.String(), "login=12") {
		t.Errorf("log: %s", log.String())
	}
}

func TestAChangeIsNoticed(t *testing.T) {
	dir := write(t, map[string]string{"1": encoded(1), "authority": encoded(9)})
	s := open(t, Options{Dir: dir, Interval: time.Millisecond})
	before, changed := s.Keys(), s.Changed()
	run(t, s)
	rewrite(t, dir, map[string]string{"1": encoded(1), "2": encoded(2), "authority": encoded(9)})
	// A look may fall between two files of what rewrite does.
	for s.Status().Current != 2 {
		<-changed
		changed = s.Changed()
	}
	if before.Current().Version != 1 || s.Keys().Current().Version != 2 {
		t.Errorf("current %s, then %s", before.Current(), s.Keys().Current())
	}
}

func TestNothingIsAnnouncedWhereNothingChanged(t *testing.T) {
	s := open(t, Options{Dir: write(t, map[string]string{"1": encoded(1), "authority": encoded(9)})})
	keys, changed := s.Keys(), s.Changed()
	must.Succeed(t, s.Reload(t.Context()))
	select {
	case <-changed:
		t.Error("a change is announced")
	default:
	}
	if s.Keys() != keys {
		t.Error("the keys are others")
	}
}

func TestTheLastGoodRingIsKept(t *testing.T) {
	good := map[string]string{"1": encoded(1), "authority": encoded(9)}
	for name, bad := range map[string]map[string]string{
		"an empty directory":   {},
		"a key cut short":      {"1": encoded(1)[:20], "authority": encoded(9)},
		"a missing authority":  {"1": encoded(1)},
		"no version any more":  {"authority": encoded(9)},
		"a current one amiss":  {"1": encoded(1), "current": "2", "authority": encoded(9)},
		"a minimum above all":  {"1": encoded(1), "minimum": "3", "authority": encoded(9)},
		"a stray file beside ": {"1": encoded(1), "1~": encoded(1), "authority": encoded(9)},
	} {
		t.Run(name, func(t *testing.T) {
			dir, log := write(t, good), &logtest.Log{}
			s := open(t, Options{Dir: dir, Log: textLogger(log)})
			sealed, changed := seal(t, s.Keys()), s.Changed()
			rewrite(t, dir, bad)
			for range 3 {
				if err := s.Reload(t.Context()); err == nil || s.Err() == nil {
					t.Fatalf("reloads: %v, %v", err, s.Err())
				}
			}
			mustOpen(t, s.Keys(), sealed)
			if n := strings.Count(log.String(), "cannot be read"); n != 1 {
				t.Errorf("logged %d times, want once", n)
			}
			select {
			case <-changed:
				t.Error("a change is announced")
			default:
			}
			rewrite(t, dir, good)
			if err := s.Reload(t.Context()); err != nil || s.Err() != nil || !strings.Contains(log.String(), "can be read again") {
				t.Errorf("does not come back: %v, %v", err, s.Err())
			}
		})
	}
}

func TestAnotherRingIsNotAdopted(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		refused string
	}{
		{"a version with other bytes", map[string]string{"1": encoded(3), "2": encoded(2), "authority": encoded(9)}, "version 1 is another key"},
		{"the current version with other bytes, and a newer one", map[string]string{"2": encoded(3), "3": encoded(4), "authority": encoded(9)}, "version 2 is another key"},
		{"a ring that was made anew", map[string]string{"1": encoded(5), "authority": encoded(6)}, "version 1 is another key"},
		{"a ring with none of the versions", map[string]string{"7": encoded(7), "authority": encoded(9)}, "none of the versions"},
		{"a version more, and one less", map[string]string{"2": encoded(2), "3": encoded(3), "authority": encoded(9)}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, map[string]string{"1": encoded(1), "2": encoded(2), "authority": encoded(9)})
			var log bytes.Buffer
			s := open(t, Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
			keys, sealed := s.Keys(), seal(t, s.Keys())
			rewrite(t, dir, tt.files)
			err := s.Reload(t.Context())
			mustOpen(t, s.Keys(), sealed)
			if tt.refused == "" {
				if err != nil || s.Err() != nil || s.Status().Current != 3 {
					t.Errorf("%v, %v, status %+v", err, s.Err(), s.Status())
				}
				return
			}
			if err == nil || s.Err() == nil || !strings.Contains(err.Error(), tt.refused) || s.Keys() != keys || s.Status().Current != 2 {
				t.Errorf("%v, %v, status %+v", err, s.Err(), s.Status())
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), tt.refused) {
				t.Errorf("the log does not say it: %s", log.String())
			}
			rewrite(t, dir, map[string]string{"1": encoded(1), "2": encoded(2), "authority": encoded(9)})
			if err := s.Reload(t.Context()); err != nil || s.Err() != nil {
				t.Errorf("with the ring back: %v", err)
			}
		})
	}
}

func TestAChangedAuthorityIsUsedAfterARestart(t *testing.T) {
	dir, log := write(t, map[string]string{"1": encoded(1), "authority": encoded(9)}), &logtest.Log{}
	s := open(t, Options{Dir: dir, Log: textLogger(log)})
	before := s.Authority().CertificatePEM()
	rewrite(t, dir, map[string]string{"1": encoded(1), "2": encoded(2), "authority": encoded(8)})
	for range 3 {
		must.Succeed(t, s.Reload(t.Context()))
	}
	if !bytes.Equal(before, s.Authority().CertificatePEM()) {
		t.Error("the authority has changed")
	}
	if n := strings.Count(log.String(), "certificate authority has changed"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	if s.Status().Current != 2 {
		t.Error("the version beside it is not taken")
	}
	if bytes.Equal(before, open(t, Options{Dir: dir}).Authority().CertificatePEM()) {
		t.Error("after a restart it is still the former one")
	}
}

func TestASourceDoesNotShowItsKeys(t *testing.T) {
	one, authority := encoded(1), encoded(9)
	dir, log := write(t, map[string]string{"1": one, "authority": authority}), &logtest.Log{}
	s := open(t, Options{Dir: dir, Log: textLogger(log)})
	rewrite(t, dir, map[string]string{"1": one, "2": encoded(2), "3": "x" + encoded(3), "authority": authority})
	texts := []string{fmt.Sprint(s.Reload(t.Context()), s.Err())}
	rewrite(t, dir, map[string]string{"1": one, "2": encoded(2), "authority": encoded(8)})
	texts = append(texts, fmt.Sprint(s.Reload(t.Context())), log.String())
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%d", "%s"} {
		for _, value := range []any{s, s.Keys(), s.Status(), s.state} {
			texts = append(texts, fmt.Sprintf(verb, value))
		}
	}
	for _, text := range texts {
		// The key's bytes 0x5a in a row, as they may be spelled.
		for _, spelling := range []string{encoded(1)[4:12], "ZZZZ", "5a5a5a", "5A5A5A", "90 90 90", "0x5a, 0x5a", "ZZZ"} {
			if strings.Contains(text, spelling) {
				t.Errorf("a key is in %.80q", text)
			}
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	dir := write(t, map[string]string{"1": encoded(1), "authority": encoded(9)})
	for name, o := range map[string]Options{
		"an unknown provider":              {Dir: dir, Provider: "kms"},
		"transit without an address":       {Dir: dir, Provider: ProviderTransit},
		"an address that cannot be reused": {Dir: dir, Transit: TransitOptions{Address: "ftp://vault"}},
	} {
		if s, err := Open(t.Context(), o); err == nil || s != nil {
			t.Errorf("%s opens", name)
		}
	}
}
