// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/hashicorp/vault/builtin/logical/transit"
	"github.com/hashicorp/vault/sdk/helper/consts"
)

// builtins are the engines that this Vault has: transit alone.
type builtins struct{}

const engine = "transit"

// Contains implements plugincatalog.BuiltinRegistry, like the rest.
func (builtins) Contains(name string, kind consts.PluginType) bool {
	return name == engine && kind == consts.PluginTypeSecrets
}

// Get returns the engine's factory.
func (b builtins) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	return func() (any, error) { return transit.Factory, nil }, b.Contains(name, kind)
}

// Keys returns the names of the engines.
func (builtins) Keys(kind consts.PluginType) []string {
	if kind == consts.PluginTypeSecrets {
		return []string{engine}
	}
	return nil
}

// DeprecationStatus says that transit is supported.
func (b builtins) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, b.Contains(name, kind)
}

// IsBuiltinEntPlugin says that nothing here is of the enterprise edition.
func (builtins) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
