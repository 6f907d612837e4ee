// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestDefaultsSurviveLoading(t *testing.T) {
	b := must.Value(yaml.Marshal(map[string]Tiers{"tiers": Defaults()}))(t)
	got := must.Value(Load(b))(t)
	if diff := cmp.Diff(Defaults(), got); diff != "" {
		t.Errorf("tiers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"business", "free", "pro"}, got.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

const team = `perMinute: 1, perHour: 2, perDay: 3, burst: 4, auditDays: 5, concurrentCalls: 6, streams: 7`

func TestLoad(t *testing.T) {
	want := Tier{PerMinute: 1, PerHour: 2, PerDay: 3, Burst: 4, AuditDays: 5, ConcurrentCalls: 6, Streams: 7}
	limited := want
	limited.Servers, limited.Secrets = ptr.To[int32](8), ptr.To[int32](9)
	large := want
	large.MaxBodyBytes = ptr.To[int32](MaxBody)
	tests := map[string]struct {
		in   string
		want Tiers
	}{
		"a limit that is left out does not exist": {`tiers: {team: {` + team + `}}`, Tiers{"team": want}},
		"limits on servers and secrets":           {`tiers: {team: {` + team + `, servers: 8, secrets: 9}}`, Tiers{"team": limited}},
		"a limit on bodies":                       {`tiers: {team: {` + team + `, maxBodyBytes: 16777216}}`, Tiers{"team": large}},
		"JSON is YAML":                            {`{"tiers":{"team":{` + quoted(team) + `}}}`, Tiers{"team": want}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := must.Value(Load([]byte(tt.in)))(t)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tiers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct {
		in, want string
	}{
		"nothing":                     {``, "tiers is empty"},
		"no tiers":                    {`tiers: {}`, "tiers is empty"},
		"an unknown field at the top": {`tires: {}`, "tires"},
		"an unknown field of a tier":  {`tiers: {team: {` + team + `, perWeek: 1}}`, "perWeek"},
		"a tier given twice":          {"tiers:\n  a: {" + team + "}\n  a: {" + team + "}\n", "already"},
		"a limit that is left out":    {`tiers: {team: {perMinute: 1}}`, "tiers.team.perHour"},
		"a limit of zero":             {`tiers: {team: {` + team + `, servers: 0}}`, "tiers.team.servers is 0"},
		"a negative limit":            {`tiers: {team: {` + team + `, secrets: -1}}`, "tiers.team.secrets is -1"},
		"a body of nothing":           {`tiers: {team: {` + team + `, maxBodyBytes: 0}}`, "tiers.team.maxBodyBytes is 0"},
		"a body that no bridge reads": {`tiers: {team: {` + team + `, maxBodyBytes: 16777217}}`, "at most 16777216"},
		"storage of nothing":          {`tiers: {team: {` + team + `, storage: 0Gi}}`, "tiers.team.storage is 0"},
		"storage that is no size":     {`tiers: {team: {` + team + `, storage: much}}`, "parse tiers"},
		"storage of servers alone":    {`tiers: {team: {` + team + `, storagePerServer: 1Gi}}`, "storagePerServer is set without storage"},
		"a limit that is no number":   {`tiers: {team: {perMinute: many}}`, "perMinute"},
		"what is no YAML":             {`{`, "parse tiers"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestFromFile(t *testing.T) {
	files := map[string]string{"good.yaml": `tiers: {team: {` + team + `}}`, "bad.yaml": `tiers: {}`}
	read := func(path string) ([]byte, error) {
		content, found := files[path]
		if !found {
			return nil, errors.New("no " + path)
		}
		return []byte(content), nil
	}
	tests := map[string]struct {
		path  string
		names []string
		err   string
	}{
		"no path gives the defaults": {"", []string{"business", "free", "pro"}, ""},
		"a file replaces them":       {"good.yaml", []string{"team"}, ""},
		"one that cannot be read":    {"absent.yaml", nil, "read tiers: no absent.yaml"},
		"one that is wrong is named": {"bad.yaml", nil, "bad.yaml: parse tiers: tiers is empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := FromFile(tt.path, read)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
				t.Errorf("error = %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.names, got.Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// quoted turns the keys of a flow mapping into JSON's.
func quoted(flow string) string {
	fields := strings.Split(flow, ", ")
	for i, f := range fields {
		name, value, _ := strings.Cut(f, ":")
		fields[i] = `"` + name + `":` + value
	}
	return strings.Join(fields, ",")
}

func TestTheShippedTiersAreTheDefaults(t *testing.T) {
	tiers := must.Value(FromFile("../../config/default/tiers.yaml", os.ReadFile))(t)
	if diff := cmp.Diff(Defaults(), tiers); diff != "" {
		t.Errorf("tiers (-want +got):\n%s", diff)
	}
}

func TestEachLimitOfATierHasANumber(t *testing.T) {
	tier := loose(func(*Tier) {})
	for limit := None; limit <= Batch; limit++ {
		if got, want := tier.Most(limit) > 0, limit != None && limit != Batch; got != want {
			t.Errorf("%v: %d", limit, tier.Most(limit))
		}
	}
}
