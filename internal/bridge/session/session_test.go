// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"testing"
)

func TestEqualIDsHaveOneForm(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, equal := range [][]string{
		{`0`, `-0`, `0.0`, `0e5`}, {`1`, `1.0`, `10e-1`}, {`-1`, `-1.0`}, {`"1"`, `"\u0031"`}, {`"a/b"`, `"a\/b"`}, {`""`}, {`"-1"`},
		{`999999999999999`, `999999999999999.0`}, {`1000000000000000`, `1e15`}, {`9007199254740992`}, {`9007199254740993`},
		{`123456789012345678901234567890`}, {`1.5`, `15e-1`}, {`"é"`, `"\u00e9"`},
	} {
		for _, id := range equal {
			key := keyOf(json.RawMessage(id))
			if before, ok := seen[key]; ok && before != i || !ok && id != equal[0] {
				t.Errorf("%s has the form %s", id, key)
			}
			seen[key] = i
		}
	}
}
