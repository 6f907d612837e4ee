// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var errAway = errors.New("no route to host")

func TestKeysAreThereFromTheFirstFetch(t *testing.T) {
	private := newKey(t)
	p := &provider{keys: []jose.JSONWebKey{
		public("a", newKey(t)), public("b", newKey(t)), public("b", newKey(t)), public("", newKey(t)),
		{Key: []byte("a secret that is there by mistake"), KeyID: "secret"}, {Key: private, KeyID: "private"}, {KeyID: "nothing"},
	}}
	w := begin(t, p)
	w.pause()
	for kid, want := range map[string][]string{
		"a": {"a"}, "b": {"b", "b"}, "": {"a", "b", "b", ""}, "c": nil, "secret": nil, "private": nil, "nothing": nil,
	} {
		if diff := cmp.Diff(want, w.ids(kid)); diff != "" {
			t.Errorf("of %q (-want +got):\n%s", kid, diff)
		}
	}
	if p.count() != 1 {
		t.Errorf("the issuer was asked %d times", p.count())
	}
	if p.left <= 0 || p.left > timeout {
		t.Errorf("a fetch has %s", p.left)
	}
}

func TestARequestBeforeTheFirstFetchWaitsForIt(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	p.hold()
	w := begin(t, p)
	<-p.began
	answer := w.ask(t.Context(), "a")
	w.request()
	p.turn <- struct{}{}
	if got := <-answer; got.err != nil || len(got.keys) != 1 {
		t.Errorf("got %v, %v", idsOf(got.keys), got.err)
	}
}

func TestKeysAreFetchedNowAndThen(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	for n := range 20 {
		pause := w.pause()
		if pause.D < 270*time.Second || pause.D > 330*time.Second {
			t.Errorf("the next fetch is after %s", pause.D)
		}
		if n == 19 {
			p.is(nil, public("b", newKey(t)))
		}
		w.clock.End(pause)
	}
	w.pause()
	if diff := cmp.Diff([]string{"b"}, w.ids("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.ids("a"); got != nil {
		t.Errorf("a key that was taken back is good: %v", got)
	}
}

func TestAnIDThatIsNewIsFetchedOnceForAllWhoWait(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	w.pause()
	w.clock.Advance(gap)
	p.hold()
	var answers []<-chan asked
	for range 20 {
		answers = append(answers, w.ask(t.Context(), "new"))
	}
	for range 20 {
		w.request()
	}
	<-p.began
	if got := w.ids("a"); len(got) != 1 {
		t.Errorf("a key that is known is %v meanwhile", got)
	}
	p.is(nil, public("new", newKey(t)))
	p.turn <- struct{}{}
	for _, answer := range answers {
		if got := <-answer; got.err != nil || len(got.keys) != 1 {
			t.Errorf("got %v, %v", idsOf(got.keys), got.err)
		}
	}
	w.pause()
	if p.count() != 2 {
		t.Errorf("the issuer was asked %d times", p.count())
	}
}

func TestNobodyHasAnIssuerAskedMoreOftenThanEvery10Seconds(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	w.pause()
	for n := range 3 {
		for range 10 {
			if got := w.ids("unknown"); got != nil {
				t.Errorf("got %v", got)
			}
		}
		w.clock.Advance(gap - time.Nanosecond)
		if w.ids("unknown"); p.count() != 1+n {
			t.Errorf("the issuer was asked %d times", p.count())
		}
		w.clock.Advance(time.Nanosecond)
		if w.ids("unknown"); p.count() != 2+n {
			t.Errorf("the issuer was asked %d times", p.count())
		}
		w.pause()
	}
}

func TestARequestDoesNotWaitLong(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	w.pause()
	w.clock.Advance(gap)
	p.hold()
	answer := w.ask(t.Context(), "new")
	w.clock.End(w.request())
	if got := <-answer; !errors.Is(got.err, errSlow) {
		t.Errorf("got %v, %v", idsOf(got.keys), got.err)
	}
	ctx, leave := context.WithCancel(t.Context())
	answer = w.ask(ctx, "new")
	w.request()
	leave()
	if got := <-answer; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v, %v", idsOf(got.keys), got.err)
	}
}

func TestKeysAreUsedForAnHourWithoutTheirIssuer(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	pause := w.pause()
	p.is(errAway)
	w.clock.End(pause)
	pause = w.pause()
	if pause.D < 13*time.Second || pause.D > 17*time.Second {
		t.Errorf("after a failure the next fetch is after %s", pause.D)
	}
	// To the end of the hour since the fetch that was good.
	w.clock.Advance(clocktest.Start.Add(defaultMaxStale).Sub(w.clock.Now()))
	if got := w.ids("a"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	w.clock.Advance(time.Nanosecond)
	if keys, err := w.set.Keys(t.Context(), theirs, "a"); !errors.Is(err, errAway) || keys != nil {
		t.Errorf("after an hour there is %v, %v", idsOf(keys), err)
	}
	if keys, err := w.set.Keys(t.Context(), theirs, ""); !errors.Is(err, errAway) || keys != nil {
		t.Errorf("after an hour there is %v, %v", idsOf(keys), err)
	}
	// Who asks after it has come back need not wait until the next time.
	p.is(nil, public("b", newKey(t)))
	w.clock.Advance(gap)
	if got := w.ids("b"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestThatAKeyIsNotThereIsNotSaidWhileItsIssuerIsAway(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	w.pause()
	p.is(errAway)
	w.clock.Advance(gap)
	for range 2 { // At once, and while it is not asked again.
		if _, err := w.set.Keys(t.Context(), theirs, "new"); !errors.Is(err, errAway) {
			t.Errorf("got %v", err)
		}
	}
	if got := w.ids("a"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	w.pause()
	w.end()
	if !strings.Contains(w.log.String(), errAway.Error()) || !strings.Contains(w.log.String(), theirs) {
		t.Errorf("the log is %s", w.log)
	}
}

func TestASetWithoutAKeyIsAFailure(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{{Key: []byte("secret"), KeyID: "a"}}}
	w := begin(t, p)
	w.pause()
	if _, err := w.set.Keys(t.Context(), theirs, "a"); err == nil || !strings.Contains(err.Error(), "no public key") {
		t.Errorf("got %v", err)
	}
}

func TestAnIssuerThatIsNotConfiguredHasNoKeys(t *testing.T) {
	w := begin(t, &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}})
	w.pause()
	for _, name := range []string{"", theirs + "/", "https://attacker.example.com"} {
		if _, err := w.set.Keys(t.Context(), name, "a"); !errors.Is(err, errNoIssuer) {
			t.Errorf("of %q got %v", name, err)
		}
	}
}

func TestOneIssuerThatIsAwayKeepsNobodyElseFromTheirs(t *testing.T) {
	held, good := &provider{}, &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	held.hold()
	s, err := New([]Source{{Issuer: "https://held.example.com", Fetch: held.fetch}, {Issuer: theirs, Fetch: good.fetch}},
		Options{Clock: clocktest.New(1000), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-held.began
	if keys, err := s.Keys(ctx, theirs, "a"); err != nil || len(keys) != 1 {
		t.Errorf("got %v, %v", idsOf(keys), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheMetricsSayWhenKeysWereFetched(t *testing.T) {
	p := &provider{keys: []jose.JSONWebKey{public("a", newKey(t))}}
	w := begin(t, p)
	reg := prometheus.NewRegistry()
	must.Succeed(t, w.set.Register(reg))
	pause := w.pause()
	p.is(errAway)
	w.clock.End(pause)
	w.pause()
	families := must.Value(reg.Gather())(t)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()+labels(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{
		"hostedbridge_ingress_oauth_keys_fetches_total " + theirs + " failed": 1,
		"hostedbridge_ingress_oauth_keys_fetches_total " + theirs + " good":   1,
		"hostedbridge_ingress_oauth_keys_last_timestamp_seconds " + theirs:    float64(clocktest.Start.Unix()),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := w.set.Register(reg); err == nil {
		t.Error("the same metrics were registered twice")
	}
}

// labels returns the values of a series' labels.
func labels(m *dto.Metric) string {
	var all string
	for _, l := range m.GetLabel() {
		all += " " + l.GetValue()
	}
	return all
}

func TestSourcesThatCannotBe(t *testing.T) {
	o := Options{Clock: clocktest.New(0), Log: slog.New(slog.DiscardHandler)}
	tests := map[string]struct {
		sources []Source
		change  func(o *Options)
		want    string
	}{
		"no issuer":                     {[]Source{{}}, nil, "no URL"},
		"the same twice":                {[]Source{{Issuer: theirs}, {Issuer: theirs}}, nil, "twice"},
		"an issuer that is not https":   {[]Source{{Issuer: "http://login.example.com"}}, nil, "must be https"},
		"keys that are not https":       {[]Source{{Issuer: theirs, URL: "http://login.example.com/keys"}}, nil, "must be https"},
		"a file":                        {[]Source{{Issuer: theirs, URL: "file:///etc/passwd"}}, nil, "must be https"},
		"no host":                       {[]Source{{Issuer: theirs, URL: "https:///keys"}}, nil, "must be https"},
		"a port alone":                  {[]Source{{Issuer: theirs, URL: "https://:443/keys"}}, nil, "must be https"},
		"no URL at all":                 {[]Source{{Issuer: "login"}}, nil, "must be https"},
		"a host like this machine's":    {[]Source{{Issuer: "http://localhost.example.com"}}, nil, "must be https"},
		"a query and no URL of keys":    {[]Source{{Issuer: theirs + "/?p=policy"}}, nil, "say where its keys are"},
		"a fragment":                    {[]Source{{Issuer: theirs + "#a"}}, nil, "fragment"},
		"too often":                     {[]Source{{Issuer: theirs}}, func(o *Options) { o.Every = time.Second }, "at least"},
		"used for shorter than fetched": {[]Source{{Issuer: theirs}}, func(o *Options) { o.Every, o.MaxStale = time.Hour, time.Minute }, "longer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := o
			if tt.change != nil {
				tt.change(&o)
			}
			if _, err := New(tt.sources, o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
	const secret = "correct-horse"
	_, err := New([]Source{{Issuer: theirs, URL: "https://user:" + secret + "@login.example.com/keys"}, {Issuer: "https://else.example.com", URL: "https://user:" + secret + "@%zz"}}, o)
	if err == nil || strings.Contains(err.Error(), secret) || strings.Count(err.Error(), "must be https") != 2 {
		t.Errorf("got %v", err)
	}
}
