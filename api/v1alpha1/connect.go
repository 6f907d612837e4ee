// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConnectURL returns the page on which a user connects the account that one of
// the servers is used with, at an installation with that public URL, which has
// no slash at its end. The operator tells it to bridges, and the ingress serves
// it.
func ConnectURL(publicURL string, user UserID, server string) string {
	return publicURL + ConnectPath + string(user) + "/" + server
}

// ConnectPath is where the paths of these pages begin. A user's id and a
// server's name follow, neither of which needs escaping.
const ConnectPath = "/oauth/connect/"
