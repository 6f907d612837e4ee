// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"bufio"
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// histogram has how many were at most so long, by that length in seconds.
type histogram map[float64]float64

var reconcileBucket = regexp.MustCompile(`^controller_runtime_reconcile_time_seconds_bucket\{controller="([^"]+)",le="([^"]+)"\} (\S+)`)

// reconciles returns how long the operator's reconciles took so far.
func (s *subject) reconciles(t *testing.T) histogram { return s.reconcilesOf(t, s.operator()) }

// reconcilesOf is reconciles of one of the operators.
func (s *subject) reconcilesOf(t *testing.T, operator *world.Process) histogram {
	t.Helper()
	said, err := world.Get(operator.Metrics)
	if err != nil {
		t.Fatalf("metrics of the operator: %v", err)
	}
	h := histogram{}
	for lines := bufio.NewScanner(bytes.NewReader(said)); lines.Scan(); {
		m := reconcileBucket.FindStringSubmatch(lines.Text())
		if m == nil || m[1] != s.controller {
			continue
		}
		limit, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if h[limit], err = strconv.ParseFloat(m[3], 64); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// total returns how many there are.
func (h histogram) total() float64 { return h[math.Inf(1)] }

// since returns how long those took that are not in before. A quantile is
// somewhere in its bucket; it is taken to be in proportion.
func (h histogram) since(before histogram) Latency {
	var limits []float64
	for limit := range h {
		limits = append(limits, limit)
	}
	slices.Sort(limits)
	quantile := func(q float64) float64 {
		total := h[math.Inf(1)] - before[math.Inf(1)]
		var under, from float64
		for _, limit := range limits {
			n := h[limit] - before[limit]
			if n >= q*total && n > under {
				if math.IsInf(limit, 1) {
					return from
				}
				return from + (limit-from)*(q*total-under)/(n-under)
			}
			under, from = n, limit
		}
		return 0
	}
	return Latency{P50: quantile(0.5), P99: quantile(0.99)}
}

// Etcd is the size of etcd's database, in MB: the file, and what of it is in use.
type Etcd struct {
	File float64 `json:"fileMB"`
	Used float64 `json:"usedMB"`
}

var (
	etcdFile = regexp.MustCompile(`(?m)^etcd_mvcc_db_total_size_in_bytes (\S+)`)
	etcdUsed = regexp.MustCompile(`(?m)^etcd_mvcc_db_total_size_in_use_in_bytes (\S+)`)
)

func (p *plane) etcdSize(t *testing.T) (e Etcd) {
	t.Helper()
	said := must.Value(world.Get(p.etcdURL + "/metrics"))(t)
	for which, of := range map[*regexp.Regexp]*float64{etcdFile: &e.File, etcdUsed: &e.Used} {
		m := which.FindSubmatch(said)
		if m == nil {
			t.Fatal("etcd does not say its size")
		}
		n := must.Value(strconv.ParseFloat(string(m[1]), 64))(t)
		*of = n / 1e6
	}
	return e
}
