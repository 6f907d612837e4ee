// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keybroker serves the one process that has the master key: it gives
// ingress and bridges their certificates, seals users' secrets, opens them for
// the pod of their own bridge, and signs the access tokens of those who log in.
//
// Who a caller is follows from its projected token and from what the API
// server says of it at that moment, or for the ingress, which changes secrets
// for the users whom it has authenticated and has tokens signed for them, from the
// certificate that it got for its token; never from anything else in the request.
// Nothing is cached: a bridge that is deleted is refused at once.
//
// The package is a shell: Cluster reads and writes the API server, everything
// else stands on the small interfaces declared beside it.
package keybroker
