// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var (
	now   = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	alice = Identity{Installation: "hosted-bridge-system", Key: Key{1}}
)

// fill sets every field below v to something that is not its zero, so that a
// field that the form leaves out is found, also one that is added later.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(now.Add(time.Duration(*n) * time.Minute)))
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("value%d", *n))
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				t.Fatalf("%s.%s is not exported: the form leaves it out", v.Type(), v.Type().Field(i).Name)
			}
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("a snapshot holds a %s now: say here how to fill one", v.Type())
	}
}

func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := 0
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	return v
}

func table(t *testing.T, backends []route.Backend, keys []route.Key, subjects ...route.Subject) *route.Table {
	t.Helper()
	return must.Value(route.Restore(route.Content{Backends: backends, Keys: keys, Subjects: subjects}))(t)
}

// sample is a file of one user with every field set.
func sample(t *testing.T) (backend route.Backend, key route.Key, subject route.Subject, file []byte) {
	t.Helper()
	backend, key, subject = filled[route.Backend](t), filled[route.Key](t), filled[route.Subject](t)
	backend.User, key.User, subject.User = "alice", "alice", "alice"
	file = must.Value(alice.EncodeRoutes(Table{table(t, []route.Backend{backend}, []route.Key{key}, subject), now}))(t)
	return backend, key, subject, file
}

func TestRoutesAreReadAsTheyWereWritten(t *testing.T) {
	backend, key, subject, file := sample(t)
	got := must.Value(alice.DecodeRoutes(file, now.Add(time.Hour), time.Hour))(t)
	if !got.Confirmed.Equal(now) || got.Routes.Len() != 1 {
		t.Errorf("%d routes, confirmed at %s, want 1 at %s", got.Routes.Len(), got.Confirmed, now)
	}
	if diff := cmp.Diff([]route.Backend{backend}, slices.Collect(got.Routes.Backends)); diff != "" {
		t.Errorf("backends (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]route.Key{key}, slices.Collect(got.Routes.AllKeys)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]route.KeyEntry{key.KeyEntry}, got.Routes.Keys(key.ID)); diff != "" {
		t.Errorf("the key by its id (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]route.Subject{subject}, slices.Collect(got.Routes.AllSubjects)); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.UserID{"alice"}, got.Routes.Subjects(subject.Key)); diff != "" {
		t.Errorf("the users of the subject (-want +got):\n%s", diff)
	}
}

func TestAnEmptyInstallationIsATable(t *testing.T) {
	file := must.Value(alice.EncodeRoutes(Table{&route.Table{}, now}))(t)
	got, err := alice.DecodeRoutes(file, now, 0)
	if err != nil || got.Routes == nil || got.Routes.Len() != 0 {
		t.Errorf("%+v, %v; want an empty table", got, err)
	}
}

func TestAKeyWithoutExpiryHasNoneAfterwards(t *testing.T) {
	key := route.Key{ID: "id", KeyEntry: route.KeyEntry{User: "alice", Hash: apikey.HashOf("x")}}
	file := must.Value(alice.EncodeRoutes(Table{table(t, []route.Backend{{User: "alice"}}, []route.Key{key}), now}))(t)
	got, err := alice.DecodeRoutes(file, now, 0)
	if err != nil || !got.Routes.Keys("id")[0].ExpiresAt.IsZero() {
		t.Errorf("%v, %v", got.Routes.Keys("id"), err)
	}
}

func TestTheAgeOfRoutesIsBounded(t *testing.T) {
	_, _, _, file := sample(t)
	for name, test := range map[string]struct {
		now  time.Time
		want string
	}{
		"as old as may be":      {now.Add(time.Hour), ""},
		"a moment older":        {now.Add(time.Hour + time.Nanosecond), "1h0m0s old, of at most 1h0m0s"},
		"a year old":            {now.AddDate(1, 0, 0), "old, of at most 1h0m0s"},
		"ahead by a correction": {now.Add(-clockSkew), ""},
		"ahead by more":         {now.Add(-2 * clockSkew), "2m0s ahead of the clock"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := alice.DecodeRoutes(file, test.now, time.Hour)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestWhatIsNotOursIsRefused(t *testing.T) {
	_, _, _, file := sample(t)
	end := strings.IndexByte(string(file), '\n')
	line, content := string(file[:end]), string(file[end:])
	pair := must.Value(alice.EncodeCredentials(Pair{CA: []byte("ca")}))(t)
	unknown := must.Value(alice.Key.seal(Routes, map[string]string{"installation": alice.Installation, "more": "x"}))(t)
	twice := must.Value(alice.EncodeRoutes(Table{&route.Table{}, now}))(t)
	for name, test := range map[string]struct {
		file string
		by   Identity
		want error
	}{
		"another key":                      {string(file), Identity{alice.Installation, Key{2}}, ErrSignature},
		"another installation of the key":  {string(file), Identity{"other", alice.Key}, ErrInstallation},
		"nothing":                          {"", alice, ErrForm},
		"a line without an end":            {line, alice, ErrForm},
		"a line that does not end":         {strings.Repeat("a", maxLine+1) + "\n", alice, ErrForm},
		"something else":                   {"{}\n{}", alice, ErrForm},
		"a later version":                  {strings.Replace(string(file), " 1 ", " 2 ", 1), alice, ErrForm},
		"another kind":                     {strings.Replace(string(file), " routes ", " credentials ", 1), alice, ErrForm},
		"credentials for routes":           {string(pair), alice, ErrForm},
		"credentials that call themselves": {strings.Replace(string(pair), " credentials ", " routes ", 1), alice, ErrSignature},
		"a content that was cut":           {string(file[:len(file)-1]), alice, ErrLength},
		"a content with more":              {string(file) + " ", alice, ErrLength},
		"another length":                   {strings.Replace(line, " routes ", " routes 0", 1) + content, alice, ErrLength},
		"no signature":                     {line[:len(line)-64] + content, alice, ErrForm},
		"a signature of other digits":      {line[:len(line)-64] + strings.Repeat("g", 64) + content, alice, ErrForm},
		"a signature of zeros":             {line[:len(line)-64] + strings.Repeat("0", 64) + content, alice, ErrSignature},
		"a changed content":                {line + strings.Replace(content, "alice", "bobby", 1), alice, ErrSignature},
		"fields that nobody knows":         {string(unknown), alice, ErrForm},
		"a good one twice":                 {string(twice) + string(twice), alice, ErrLength},
		"too long":                         {string(make([]byte, Routes.Max()+1)), alice, ErrLength},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.by.DecodeRoutes([]byte(test.file), now, time.Hour)
			if !errors.Is(err, test.want) || got.Routes != nil {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "alice") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

func TestEveryByteOfAFileCounts(t *testing.T) {
	_, _, _, file := sample(t)
	for i := range file {
		changed := slices.Clone(file)
		changed[i] ^= 1
		if _, err := alice.DecodeRoutes(changed, now, time.Hour); err == nil {
			t.Fatalf("byte %d can be changed", i)
		}
	}
}

func TestCredentialsAreReadAsTheyWereWritten(t *testing.T) {
	want := filled[plainPair](t).pair()
	file := must.Value(alice.EncodeCredentials(want))(t)
	got, err := alice.DecodeCredentials(file)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, by := range map[string]Identity{"another key": {alice.Installation, Key{2}}, "another installation": {"other", alice.Key}} {
		if _, err := by.DecodeCredentials(file); err == nil {
			t.Errorf("read by %s", name)
		}
	}
	_, _, _, routes := sample(t)
	if _, err := alice.DecodeCredentials(routes); !errors.Is(err, ErrForm) {
		t.Errorf("routes read as credentials: %v", err)
	}
	if _, err := alice.EncodeCredentials(Pair{CA: make([]byte, Credentials.Max())}); !errors.Is(err, ErrLength) {
		t.Errorf("credentials of any length: %v", err)
	}
}

// plainPair has the fields of a Pair as what fill fills.
type plainPair struct{ CA, Chain, Key string }

func (p plainPair) pair() Pair { return Pair{[]byte(p.CA), []byte(p.Chain), []byte(p.Key)} }

func TestAKeyFileIs32BytesInBase64(t *testing.T) {
	good := strings.Repeat("A", 43) + "="
	for name, test := range map[string]struct {
		content string
		ok      bool
	}{
		"as base64 writes it":  {good + "\n", true},
		"without a line's end": {good, true},
		"nothing":              {"", false},
		"16 bytes":             {"AAAAAAAAAAAAAAAAAAAAAA==", false},
		"33 bytes":             {strings.Repeat("A", 44), false},
		"hex":                  {hex.EncodeToString(make([]byte, 32)), false},
		"two lines":            {good + "\n" + good, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKey([]byte(test.content))
			if (err == nil) != test.ok {
				t.Errorf("error %v", err)
			}
			if err != nil && test.content != "" && strings.Contains(err.Error(), strings.TrimSpace(test.content)) {
				t.Error("the error quotes the file")
			}
		})
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", Key{7}, Key{7}, Key{7}, Key{7}); strings.Contains(shown, "7") {
		t.Errorf("a key shows itself: %s", shown)
	}
}

func FuzzDecode(f *testing.F) {
	file := must.Value(alice.EncodeRoutes(Table{&route.Table{}, now}))(f)
	pair := must.Value(alice.EncodeCredentials(Pair{CA: []byte("ca")}))(f)
	f.Add(file)
	f.Add(pair)
	f.Add([]byte("hosted-bridge-snapshot 1 routes 0 \n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Nobody without the key makes a file that is taken.
		if _, err := alice.DecodeRoutes(b, now, time.Hour); err == nil && !slices.Equal(b, file) {
			t.Errorf("taken: %q", b)
		}
		if _, err := alice.DecodeCredentials(b); err == nil && !slices.Equal(b, pair) {
			t.Errorf("taken: %q", b)
		}
	})
}
