// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// toolNames says which names clients see of a server's tools, or would see if it were turned on,
// in one sentence. It is empty where clients do not see them, or where there is nothing to tell.
func toolNames(v View, s Server) string {
	b := v.Bridge
	switch {
	case b.Spec.Mode == v1alpha1.ModeRouter:
		return ""
	case !bridgestate.HasPrefix(b, s.Name):
		return "Its tools have the names that the server gives them, and keep them when other servers come."
	case b.Spec.ToolPrefix == v1alpha1.ToolPrefixAuto:
		return "A tool whose name another server has too is called " + s.Name + "_ and its name."
	case b.Spec.ToolPrefix == v1alpha1.ToolPrefixNever:
		return "A tool whose name another server has too gets a number."
	case s.Has():
		return "The names of its tools begin with " + s.Name + "_."
	}
	return "The names of its tools will begin with " + s.Name + "_; the tools of your other servers keep their names."
}
