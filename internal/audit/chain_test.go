// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// sampleEntry is an entry with every field set.
var sampleEntry = Entry{
	ID: "e1", Time: time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC), UserID: "alice", BridgeUID: "5681a075-0000",
	Principal: Principal{Kind: KindUserKey, ID: "k1", Issuer: "https://issuer.example/?a=<b>"},
	Call:      func() Call { c := sample; c.ID = ""; return c }(), ReportedBy: Bridge,
	SessionHash: "5e55", SourceIPHash: "ad", UserAgent: `agent/1.0 (x; "y") <&>`, TraceID: "0af7", RequestID: "f00",
}

// trail returns the lines of n entries, without their line feeds.
func trail(writer string, n int) []string {
	var buf []byte
	h := NewChain(writer)
	for i := range n {
		e := sampleEntry
		e.ID = fmt.Sprint(i)
		buf = h.Append(buf, e)
	}
	return strings.Split(strings.TrimSuffix(string(buf), "\n"), "\n")
}

func TestALineIsReadAsItWasWritten(t *testing.T) {
	h := NewChain("w")
	first := h.Append(nil, sampleEntry)
	torn := h.AppendTorn(nil, TornPart([]byte("half")))
	got := must.Value(ParseLine(bytes.TrimSuffix(first, []byte("\n"))))(t)
	if diff := cmp.Diff(sampleEntry, got.Entry); diff != "" || got.Seq != 1 || got.Writer != "w" || got.Prev != zeroHash {
		t.Errorf("%+v %s", got.Head, diff)
	}
	mark, err := ParseLine(bytes.TrimSuffix(torn, []byte("\n")))
	if err != nil || mark.Torn == nil || mark.Torn.Bytes != 4 || mark.Prev != got.Hash || mark.Head != h {
		t.Errorf("%+v, %v", mark, err)
	}
}

func TestWhateverAnEntryIsMadeOfItsLineCanBeRead(t *testing.T) {
	strange := strings.Repeat("\r\nX: \x00é\"\\\xff<", 100)
	e := Entry{
		ID: strange, UserID: strange, BridgeUID: strange, Principal: Principal{Kind: KindAdminKey, ID: strange, Issuer: strange, Role: strange}, ReportedBy: Ingress,
		Call:        Call{Server: strange, Tool: strange, Method: strange, Status: "strange", ParamKeys: []string{strange}, LatencyMS: -1},
		SessionHash: strange, SourceIPHash: strange, UserAgent: strange, TraceID: strange, RequestID: strange,
		Time: time.Date(2026, 1, 1, 1, 1, 1, 999999999, time.FixedZone("x", 3600)),
	}
	h := NewChain("w")
	line := h.Append(nil, e)
	got, err := ParseLine(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil || len(line) > MaxLine {
		t.Fatalf("%d bytes: %v", len(line), err)
	}
	if diff := cmp.Diff(e.Bounded(), got.Entry); diff != "" {
		t.Error(diff)
	}
	if strings.IndexFunc(string(line[:len(line)-1]), func(c rune) bool { return c < ' ' || c > '~' }) >= 0 {
		t.Errorf("%q", line)
	}
}

func TestTheLongestEntryFitsIntoALine(t *testing.T) {
	e := sampleEntry
	long := strings.Repeat("<", 2*maxName)
	e.UserAgent, e.Principal.Issuer = long, long
	e.Server, e.Tool, e.Action, e.ErrorType = long, long, long, long
	e.ParamKeys = slices.Repeat([]string{strings.Repeat("k", maxKey)}, 2*maxKeys)
	h := NewChain("w")
	if n := len(h.Append(nil, e)); n > MaxLine/2 {
		t.Errorf("%d bytes", n)
	}
}

// TestAnEntryCannotHoldAValue fails when a field comes that could.
func TestAnEntryCannotHoldAValue(t *testing.T) {
	names := map[string]bool{
		"ID": true, "Time": true, "UserID": true, "BridgeUID": true, "Principal": true, "Call": true, "ReportedBy": true, "SessionHash": true,
		"SourceIPHash": true, "UserAgent": true, "TraceID": true, "RequestID": true,
	}
	for field := range reflect.TypeFor[Entry]().Fields() {
		if !names[field.Name] {
			t.Errorf("%s is a %v", field.Name, field.Type)
		}
	}
}

// check returns what Verify says of lines, one string for all.
func check(parts ...string) string {
	v := &Verifier{}
	var said []string
	for _, part := range parts {
		if err := v.Read(strings.NewReader(part)); err != nil {
			return err.Error()
		}
		for _, f := range v.Findings {
			said = append(said, f.String())
		}
		if v.Unfinished > 0 {
			said = append(said, fmt.Sprintf("unfinished %d", v.Unfinished))
		}
	}
	for _, h := range v.Begins {
		said = append(said, fmt.Sprintf("begins at %d", h.Seq))
	}
	return strings.Join(append(said, fmt.Sprintf("%d lines, %d torn", v.Lines, v.Torn)), "; ")
}

func joined(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestVerifyFindsWhatWasDoneToATrail(t *testing.T) {
	l, other := trail("a", 6), trail("b", 2)
	broken := func() string {
		h, buf := NewChain("t"), []byte(nil)
		buf = h.Append(buf, sampleEntry)
		buf = append(buf, "{\"writer\":\"t\",\"se\nq"...)
		mark := TornPart([]byte("{\"writer\":\"t\",\"se\nq"))
		buf = h.AppendTorn(append(buf, '\n'), mark)
		return string(h.Append(buf, sampleEntry))
	}()
	// Whoever changes a line may well make its hash anew.
	h := Head{Writer: "a", Seq: 2, Hash: func() string { r, _ := ParseLine([]byte(l[1])); return r.Hash }()}
	changed := sampleEntry
	changed.Tool = "another"
	forged := strings.TrimSuffix(string(h.Append(nil, changed)), "\n")
	tests := map[string]struct {
		parts []string
		want  string
	}{
		"all is well":                        {[]string{joined(l...)}, "6 lines, 0 torn"},
		"nothing is there":                   {[]string{""}, "0 lines, 0 torn"},
		"it goes on in the next file":        {[]string{joined(l[:3]...), joined(l[3:]...)}, "6 lines, 0 torn"},
		"two writers":                        {[]string{joined(l[0], other[0], l[1], other[1])}, "4 lines, 0 torn"},
		"the beginning is in another file":   {[]string{joined(l[2:]...)}, "begins at 3; 4 lines, 0 torn"},
		"a line is gone":                     {[]string{joined(slices.Concat(l[:2], l[3:])...)}, "line 3: 1 lines are missing before this one (number 4 of a follows 2); 5 lines, 0 torn"},
		"two files are out of order":         {[]string{joined(l[3:]...), joined(l[:3]...)}, "line 1: the line stands in the wrong place or twice (number 1 of a follows 6); line 2: the line stands in the wrong place or twice (number 2 of a follows 6); line 3: the line stands in the wrong place or twice (number 3 of a follows 6); begins at 4; 6 lines, 0 torn"},
		"a line is there twice":              {[]string{joined(l[0], l[0], l[1])}, "line 2: the line stands in the wrong place or twice (number 1 of a follows 1); 3 lines, 0 torn"},
		"a byte was changed":                 {[]string{strings.Replace(joined(l[:3]...), "alice", "mario", 1)}, "line 1: the line was changed: its hash is another one; begins at 2; 2 lines, 0 torn"},
		"a line was written anew":            {[]string{joined(l[0], l[1], forged, l[3])}, "line 4: the line before was changed: it is not the one that this line follows (number 4 of a); 4 lines, 0 torn"},
		"a member was added":                 {[]string{joined(strings.Replace(l[0], `"seq"`, `"x":1,"seq"`, 1))}, "line 1: the line was changed: its hash is another one; 0 lines, 0 torn"},
		"the middle was cut":                 {[]string{joined(l[0]) + l[1][:50] + l[3][90:] + "\n" + joined(l[4])}, "line 2: the line was changed: its hash is another one; line 3: 3 lines are missing before this one (number 5 of a follows 1); 2 lines, 0 torn"},
		"something else stands between":      {[]string{joined(l[0], "x", l[1])}, "line 2: this is no line of an audit trail; 2 lines, 0 torn"},
		"the last line has no end":           {[]string{joined(l[0]) + l[1][:100]}, "unfinished 2; 1 lines, 0 torn"},
		"the last line lacks its line feed":  {[]string{joined(l[0]) + l[1]}, "unfinished 2; 1 lines, 0 torn"},
		"a write broke off and is marked":    {[]string{broken}, "3 lines, 1 torn"},
		"what is marked was changed":         {[]string{strings.Replace(broken, "se\nq", "sE\nq", 1)}, "line 2: this is no line of an audit trail; line 4: the line marks the remains of a write that broke off, and other ones or none are before it; 3 lines, 0 torn"},
		"what is marked was removed":         {[]string{strings.Replace(broken, "{\"writer\":\"t\",\"se\nq\n", "", 1)}, "line 2: the line marks the remains of a write that broke off, and other ones or none are before it; 3 lines, 0 torn"},
		"a line that is longer than any":     {[]string{joined(l[0], strings.Repeat("x", 3*MaxLine), l[1])}, "line 2: the line is too long; 2 lines, 0 torn"},
		"a trail that is wrong all the time": {[]string{strings.Repeat(l[0]+"\nx\n", 500)}, check(strings.Repeat(l[0]+"\nx\n", 50) + l[0] + "\n")[:0]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" {
				v := &Verifier{}
				if err := v.Read(strings.NewReader(tt.parts[0])); err != nil || len(v.Findings) != maxFindings {
					t.Errorf("%d findings, %v", len(v.Findings), err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, check(tt.parts...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVerifyFindsThatTheEndWasCutOff(t *testing.T) {
	l := trail("a", 5)
	heads := make([]Head, len(l))
	for i := range l {
		r := must.Value(ParseLine([]byte(l[i])))(t)
		heads[i] = r.Head
	}
	v := &Verifier{}
	if err := v.Read(strings.NewReader(joined(l[:3]...))); err != nil || len(v.Findings) != 0 {
		t.Fatal(err, v.Findings)
	}
	for i, wrong := range []bool{false, false, false, true, true} {
		if err := v.End(heads[i]); (err != nil) != wrong {
			t.Errorf("after 3 lines, with %d written: %v", i+1, err)
		}
	}
	if err := v.End(Head{Writer: "a", Seq: 3, Hash: zeroHash}); err == nil {
		t.Error("another last line was not found")
	}
	if err := v.End(Head{Writer: "b", Seq: 3}); err == nil {
		t.Error("a trail that is gone was not found")
	}
	if diff := cmp.Diff([]Head{heads[2]}, v.Heads()); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyFindsATrailAmongOtherLines(t *testing.T) {
	l := trail("a", 3)
	v := &Verifier{Mixed: true}
	if err := v.Read(strings.NewReader(joined(`{"time":"x","msg":"request"}`, l[0], "panic: x", l[1], strings.Repeat("z", 3*MaxLine), l[2]))); err != nil {
		t.Fatal(err)
	}
	if len(v.Findings) != 0 || v.Lines != 3 {
		t.Errorf("%v, %d lines", v.Findings, v.Lines)
	}
}

func TestHashesAreKeyed(t *testing.T) {
	one := must.Value(NewHasher([]byte(strings.Repeat("a", 16))))(t)
	two, _ := NewHasher([]byte(strings.Repeat("b", 16)))
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:192.0.2.1")
	if one.Address(v4) != one.Address(v6) || one.Address(v4) == two.Address(v4) || one.Address(v4) == one.Session("192.0.2.1") {
		t.Error("the hash of an address is not what it should be")
	}
	if len(one.Session("s")) != 2*hashed || one.Session("") != "" || one.Address(netip.Addr{}) != "" {
		t.Error("the hash of a session is not what it should be")
	}
	if _, err := NewHasher([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
	if first, again := EntryID("alice", "1"), EntryID("alice", "1"); first == EntryID("bob", "1") || first != again {
		t.Error("ids of entries are not of their user")
	}
}

func FuzzParseLine(f *testing.F) {
	for _, l := range trail("a", 2) {
		f.Add([]byte(l))
	}
	h := NewChain("w")
	f.Add(bytes.TrimSuffix(h.AppendTorn(nil, TornPart(nil)), []byte("\n")))
	f.Add([]byte(`{"writer":"","seq":1,"hash":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseLine(line)
		if err != nil {
			return
		}
		// There is one line for what it says.
		before := Head{Writer: r.Writer, Seq: r.Seq - 1, Hash: r.Prev}
		again := before.Append(nil, r.Entry)
		if r.Torn != nil {
			before = Head{Writer: r.Writer, Seq: r.Seq - 1, Hash: r.Prev}
			again = before.AppendTorn(nil, *r.Torn)
		}
		if string(again) != string(line)+"\n" || before != r.Head {
			t.Errorf("%q was read, %q would be written", line, again)
		}
	})
}

// FuzzVerify changes a byte of a trail: it must be found.
func FuzzVerify(f *testing.F) {
	whole := joined(trail("a", 4)...)
	f.Add(10, byte('x'))
	f.Add(len(whole)-1, byte(' '))
	f.Fuzz(func(t *testing.T, at int, by byte) {
		if at < 0 || at >= len(whole) || whole[at] == by {
			return
		}
		v := &Verifier{}
		must.Succeed(t, v.Read(strings.NewReader(whole[:at]+string([]byte{by})+whole[at+1:])))
		if len(v.Findings) == 0 && v.Unfinished == 0 {
			t.Errorf("byte %d became %q, and nothing was found", at, by)
		}
	})
}
