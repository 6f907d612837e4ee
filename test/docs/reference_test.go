// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheReferenceHasEveryValue(t *testing.T) {
	values, schema := mustRead(t, "charts/hosted-bridge/values.yaml"), mustRead(t, "charts/hosted-bridge/values.schema.json")
	text := must.Value(Values([]byte(values), []byte(schema)))(t)
	ExpectPart(t, "docs/reference/values.md", "values", strings.TrimSpace(text))
}

func TestValues(t *testing.T) {
	got, err := Values([]byte(`# Of all.
top:
  # How many.
  count: 2
  # A part.
  part:
    # Its kind.
    kind: a
  open: {x: "1"}
# A list.
names: []
`), []byte(`{"$defs": {"kind": {"enum": ["a", "b"]}}, "properties": {
  "top": {"additionalProperties": false, "properties": {
    "part": {"additionalProperties": false, "properties": {"kind": {"$ref": "#/$defs/kind"}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "\n## top\n\nOf all.\n\n| value | default | |\n| --- | --- | --- |\n" +
		"| `top.count` | `2` | How many. |\n| `top.part` |  | A part. |\n| `top.part.kind` | `a` | Its kind. One of `a`, `b`. |\n| `top.open` | `{x: \"1\"}` |  |\n" +
		"\n## names\n\nA list.\n\n| value | default | |\n| --- | --- | --- |\n| `names` | `[]` |  |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTheTestsOfTheSecurityPageAreThere holds the page to the tests that it
// gives as the proof of what it promises.
func TestTheTestsOfTheSecurityPageAreThere(t *testing.T) {
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(mustRead(t, "docs/security.md"), -1)
	if len(names) < 20 {
		t.Fatalf("the page names %d tests", len(names))
	}
	for _, name := range names {
		if !slices.Contains(tests(t), name[1]) {
			t.Errorf("there is no test %s", name[1])
		}
	}
}
