// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"maps"
	"net/netip"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// defaultRegistry is npm's own, which its programs ask unless told otherwise.
const defaultRegistry = "https://registry.npmjs.org/"

// values are those of the chart that depend on what was found.
type values struct {
	Bridge struct {
		Upstream struct {
			AllowCIDRs []string `json:"allowCIDRs"`
		} `json:"upstream"`
		Runtimes struct {
			Env         map[string]string `json:"env"`
			Authorities string            `json:"authorities"`
		} `json:"runtimes"`
	} `json:"bridge"`
}

// valuesOf allows the addresses that are not public, each by itself, in addition to
// the ranges.
func valuesOf(f found, ranges []string) values {
	var v values
	v.Bridge.Upstream.AllowCIDRs = slices.Clone(ranges)
	for _, a := range f.addresses {
		own := netip.PrefixFrom(a, a.BitLen()).String()
		if !netguard.Public(a) && !slices.Contains(v.Bridge.Upstream.AllowCIDRs, own) {
			v.Bridge.Upstream.AllowCIDRs = append(v.Bridge.Upstream.AllowCIDRs, own)
		}
	}
	v.Bridge.Runtimes.Env = map[string]string{}
	maps.Copy(v.Bridge.Runtimes.Env, f.proxies)
	if f.registry != defaultRegistry {
		v.Bridge.Runtimes.Env["npm_config_registry"] = f.registry
	}
	if f.authority != nil {
		v.Bridge.Runtimes.Authorities = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.authority.Raw}))
	}
	return v
}
