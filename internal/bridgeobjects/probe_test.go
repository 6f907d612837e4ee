// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestProbePods(t *testing.T) {
	open, denied := ProbePods(Probe{
		Namespace: "hosted-bridge-system", Image: "hosted-bridge/bridge:test", Address: "http://10.0.0.1:8081/healthz",
		PodName: "hosted-bridge-operator-1", PodUID: "5c1d",
	})
	var got []byte
	for _, pod := range []any{open, denied} {
		data := must.Value(yaml.Marshal(pod))(t)
		got = append(append(got, "---\n"...), data...)
	}
	expectGolden(t, "testdata/probe.out.yaml", got)
	denied.Name, denied.Labels = open.Name, open.Labels
	if diff := cmp.Diff(open, denied); diff != "" {
		t.Errorf("the pods differ in more than a label (-open +denied):\n%s", diff)
	}
}
