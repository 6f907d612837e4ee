// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

// hidden holds a master key or a salt, which both have 32 bytes, so that it is
// not printed by mistake, alone or inside something else: package fmt follows
// pointers, and calls no methods on unexported fields, but shows a function as
// an address with every verb.
type hidden func() *[KeySize]byte

func hide(b [KeySize]byte) hidden { return func() *[KeySize]byte { return &b } }
