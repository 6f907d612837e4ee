// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd has the CustomResourceDefinitions that programs read.
package crd

import _ "embed"

// BridgeProfile is the CustomResourceDefinition of BridgeProfiles, as YAML.
//
//go:embed bases/hostedbridge.dev_bridgeprofiles.yaml
var BridgeProfile []byte
