// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package h1 speaks HTTP/1.1 to one TLS peer at a time, on the goroutine of the
// caller: a request is written and its answer read without handing either to
// another goroutine, which is what net/http's Transport spends most on.
//
// It knows what a bridge sends and refuses the rest. An answer has a length or is
// chunked, since an end that is only told by the connection's closing cannot be
// told from a broken connection. A connection is used again only if nothing about
// it is in doubt: the answer was read to its end, nothing came behind it, and
// at the time of its next use nothing has come since.
package h1
