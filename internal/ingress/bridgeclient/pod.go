// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Pod is what a route leads to: a pod that moved to another address
// is another Pod.
type Pod struct {
	bridge, pod types.UID
	ip          string
}

// PodOf returns the pod that b leads to.
func PodOf(b route.Backend) Pod {
	return Pod{bridge: b.BridgeUID, pod: b.PodUID, ip: b.PodIP}
}
