// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keybroker serves the one process that has the master key: it gives
// ingress and bridges their certificates, seals users' secrets, opens them for
// the pod of their own bridge, and signs access tokens for users who log in.
//
// The keybroker identifies a caller by its projected token and by what the API
// server says of it at that moment. The ingress, which changes secrets for the
// users that it has authenticated and has tokens signed for them, is identified
// by the certificate that it got for its token. Nothing else in a request
// identifies a caller. Nothing is cached: a deleted bridge is refused at once.
//
// The package is a shell: Cluster reads and writes the API server, everything
// else stands on the small interfaces declared beside it.
package keybroker
