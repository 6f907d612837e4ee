// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Changes says in a few words each how the spec of a bridge in effect differs from before.
func Changes(before, after *v1alpha1.HostedBridge) []string {
	was, is := before.Spec, after.Spec
	var list []string
	field := func(name, from, to string) {
		if from != to {
			list = append(list, fmt.Sprintf("%s: %s -> %s", name, shown(from), shown(to)))
		}
	}
	field("tier", was.Tier, is.Tier)
	field("mode", string(was.Mode), string(is.Mode))
	field("toolPrefix", string(was.ToolPrefix), string(is.ToolPrefix))
	field("idleTimeout", before.IdleTimeout().String(), after.IdleTimeout().String())
	field("runtimeClassName", ptr.Deref(was.RuntimeClassName, ""), ptr.Deref(is.RuntimeClassName, ""))
	for _, s := range was.Servers {
		if at := indexOf(is.Servers, s.Name); at < 0 {
			list = append(list, "- server "+s.Name)
		} else if !equality.Semantic.DeepEqual(s, is.Servers[at]) {
			list = append(list, "~ server "+s.Name)
		}
	}
	for _, s := range is.Servers {
		if indexOf(was.Servers, s.Name) < 0 {
			list = append(list, "+ server "+s.Name)
		}
	}
	return list
}

func indexOf(servers []v1alpha1.Server, name string) int {
	return slices.IndexFunc(servers, func(s v1alpha1.Server) bool { return s.Name == name })
}

func shown(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
