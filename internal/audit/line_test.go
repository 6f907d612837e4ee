// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// byReflection is how the form of lines is defined: what encoding/json makes of
// the fields' tags, of strings that are bounded character by character.
func byReflection(h *Head, e Entry) []byte {
	e.Call = boundedByCharacter(e.Call)
	e.Call.ID = ""
	if len(e.ParamKeys) == 0 {
		e.ParamKeys = nil
	}
	for _, s := range []*string{&e.ID, &e.UserID, &e.BridgeUID, &e.Principal.ID, &e.Principal.Role, &e.SessionHash, &e.SourceIPHash, &e.TraceID, &e.RequestID} {
		*s = nameByCharacter(*s)
	}
	e.Principal.Issuer, e.UserAgent = printableByCharacter(e.Principal.Issuer), printableByCharacter(e.UserAgent)
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	return endOfReflection(h, struct {
		link
		Entry
	}{link{h.Writer, h.Seq + 1, h.Hash}, e})
}

func tornByReflection(h *Head, torn Torn) []byte {
	return endOfReflection(h, struct {
		link
		Torn Torn `json:"torn"`
	}{link{h.Writer, h.Seq + 1, h.Hash}, torn})
}

func endOfReflection(h *Head, line any) []byte {
	b, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	h.Seq, h.Hash = h.Seq+1, hashOf(b)
	return append(b[:len(b)-1], `,"hash":"`+h.Hash+"\"}\n"...)
}

func boundedByCharacter(c Call) Call {
	for _, s := range []*string{&c.ID, &c.Server, &c.Tool, &c.Method, &c.Action, &c.ErrorType, &c.ProtocolVersion} {
		*s = nameByCharacter(*s)
	}
	c.ParamKeys = slices.DeleteFunc(slices.Clone(c.ParamKeys), func(key string) bool {
		return key == "" || len(key) > maxKey || strings.IndexFunc(key, func(c rune) bool { return !plain(c) }) >= 0
	})
	c.ParamKeys = c.ParamKeys[:min(len(c.ParamKeys), maxKeys)]
	if !slices.Contains(Statuses(), c.Status) {
		c.Status = ProtocolError
	}
	c.LatencyMS, c.BytesIn, c.BytesOut, c.Retries = max(c.LatencyMS, 0), max(c.BytesIn, 0), max(c.BytesOut, 0), max(c.Retries, 0)
	return c
}

func nameByCharacter(s string) string {
	var b strings.Builder
	for _, c := range s {
		if b.Len() == maxName {
			break
		}
		if !inName(c) {
			c = '_'
		}
		b.WriteRune(c)
	}
	return b.String()
}

func printableByCharacter(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '_'
		}
		return c
	}, s[:min(len(s), maxName*utf8.UTFMax)])
	return s[:min(len(s), maxName)]
}

// anyEntry returns an entry whose fields are parts of text, or empty.
func anyEntry(r *rand.Rand, text string) Entry {
	part := func() string {
		if r.IntN(3) == 0 || text == "" {
			return ""
		}
		from := r.IntN(len(text))
		return text[from : from+r.IntN(len(text)-from+1)]
	}
	number := func() int64 { return r.Int64N(1<<40) >> r.IntN(41) * (r.Int64N(4) - 1) }
	e := Entry{
		ID: part(), Time: time.UnixMilli(r.Int64N(1 << 47)).Add(time.Duration(r.IntN(1e9))).In(time.FixedZone("", r.IntN(86400))),
		UserID: part(), BridgeUID: part(), Principal: Principal{Kind(part()), part(), part(), part()}, ReportedBy: Reporter(part()),
		SessionHash: part(), SourceIPHash: part(), UserAgent: part(), TraceID: part(), RequestID: part(),
		Call: Call{
			ID: part(), Server: part(), Tool: part(), Method: part(), Action: part(), Status: Status(part()), ErrorType: part(), ProtocolVersion: part(),
			LatencyMS: number(), BytesIn: number(), BytesOut: number(), Retries: int(number()), Cached: r.IntN(2) == 0,
		},
	}
	if r.IntN(2) == 0 {
		e.Status = statuses[r.IntN(len(statuses))]
	}
	for range r.IntN(40) {
		e.ParamKeys = append(e.ParamKeys, part())
	}
	return e
}

// FuzzAppend compares the lines of a chain with those of encoding/json.
func FuzzAppend(f *testing.F) {
	f.Add(uint64(1), "search")
	f.Add(uint64(2), "a<b>&\"c\\ \u2028\u00e9\x00\xff/..-_")
	f.Add(uint64(3), strings.Repeat("long ", 200))
	f.Add(uint64(4), strings.Repeat("x", 127)+"\u00e9\u2029")
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		r := rand.New(rand.NewPCG(seed, 0))
		ours, theirs := NewChain(text[:min(len(text), 40)]), NewChain(text[:min(len(text), 40)])
		buf := []byte("before")
		for range 3 {
			e := anyEntry(r, text)
			keys := slices.Clone(e.ParamKeys)
			begin := len(buf)
			buf = ours.Append(buf, e)
			if want := byReflection(&theirs, e); string(buf[begin:]) != string(want) || ours != theirs {
				t.Fatalf("%s is not\n%s", buf[begin:], want)
			}
			if !slices.Equal(keys, e.ParamKeys) {
				t.Fatal("the caller's keys were changed")
			}
		}
		begin, torn := len(buf), Torn{Bytes: r.Int64() - r.Int64(), SHA256: text}
		buf = ours.AppendTorn(buf, torn)
		if want := tornByReflection(&theirs, torn); string(buf[begin:]) != string(want) || ours != theirs {
			t.Fatalf("%s is not\n%s", buf[begin:], want)
		}
	})
}

func TestALineIsWhatReflectionMakesOfIt(t *testing.T) {
	alphabet := []rune("abcXYZ019_.-/ <>&\"\\\n\x00\x7f\u00e9\u2028\ufffd")
	r := rand.New(rand.NewPCG(1, 2))
	ours, theirs := NewChain("w"), NewChain("w")
	for range 500 {
		text := make([]rune, 1+r.IntN(400))
		plainOnly := 1 + r.IntN(len(alphabet))
		for i := range text {
			text[i] = alphabet[r.IntN(plainOnly)]
		}
		e := anyEntry(r, string(text))
		if got, want := ours.Append(nil, e), byReflection(&theirs, e); string(got) != string(want) {
			t.Fatalf("%s is not\n%s", got, want)
		}
		ours.Writer, theirs.Writer = string(text), string(text)
		if want, err := json.Marshal(theirs); err != nil || string(ours.AppendJSON(nil)) != string(want) {
			t.Fatalf("%s is not %s, %v", ours.AppendJSON(nil), want, err)
		}
	}
}

// benchEntry is what clients commonly leave of a call.
func benchEntry() Entry {
	e := sampleEntry
	e.Principal.Issuer, e.UserAgent = "", "claude-code/2.1 (cli)"
	return e
}

// BenchmarkAppend is the line of a call of which a bridge told.
func BenchmarkAppend(b *testing.B) {
	h, e, buf := NewChain("ABCDEFGHIJKLMNOP"), benchEntry(), make([]byte, 0, MaxLine)
	b.ReportAllocs()
	for b.Loop() {
		buf = h.Append(buf[:0], e)
	}
}

// BenchmarkAppendByReflection is the same by encoding/json.
func BenchmarkAppendByReflection(b *testing.B) {
	h, e := NewChain("ABCDEFGHIJKLMNOP"), benchEntry()
	b.ReportAllocs()
	for b.Loop() {
		byReflection(&h, e)
	}
}

func BenchmarkHash(b *testing.B) {
	h := must.Value(NewHasher([]byte(strings.Repeat("k", minHashKey))))(b)
	b.ReportAllocs()
	for b.Loop() {
		h.Session("b59a1c32-9f4e-4a60-8f0b-0d1fdd5b1a5c")
	}
}

// FuzzScanTrailer compares with encoding/json what is read without it.
func FuzzScanTrailer(f *testing.F) {
	f.Add(EncodeTrailer([]Call{sample}), uint64(1))
	f.Add(EncodeTrailer([]Call{sample, {Tool: "t", Status: Timeout}}), uint64(2))
	f.Add(`{"calls":[{"tool":"","method":"","status":"","latencyMs":0,"bytesIn":00,"bytesOut":0}],"dropped":3}`, uint64(3))
	f.Add(`{"calls":[{"tool":"a","method":"m","paramKeys":[],"status":"s","latencyMs":999999999999999999,"bytesIn":1,"bytesOut":9223372036854775808}]}`, uint64(4))
	f.Fuzz(func(t *testing.T, value string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		written := EncodeTrailer([]Call{anyEntry(r, value).Call, anyEntry(r, value).Call})
		if _, ok := scanTrailer(written); !ok {
			t.Errorf("a bridge's spelling is not known: %s", written)
		}
		for _, v := range []string{value, written} {
			got, ok := scanTrailer(v)
			if !ok {
				continue
			}
			if want, err := decodeTrailer(v); err != nil || !cmp.Equal(got, want) {
				t.Errorf("%q: %v %s", v, err, cmp.Diff(want, got))
			}
		}
	})
}

func TestWhatBridgesWriteIsReadWithoutReflection(t *testing.T) {
	value := EncodeTrailer([]Call{sample, {Tool: "t", Status: Timeout}})
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := ParseTrailer(value); err != nil {
			t.Fatal(err)
		}
	})
	if most := 4.0; allocs > most {
		t.Errorf("%v allocations, want at most %v", allocs, most)
	}
}

func BenchmarkParseTrailer(b *testing.B) {
	value := EncodeTrailer([]Call{sample})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseTrailer(value); err != nil {
			b.Fatal(err)
		}
	}
}
