// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// headersDiffer is the check that the server has each header once.
func headersDiffer(server Server) Finding {
	seen := map[string]string{}
	for j, header := range server.Headers {
		field := fmt.Sprintf("spec.servers[%d].transport.headers[%d]", server.Index, j)
		if other, ok := seen[strings.ToLower(header.Name)]; ok {
			return Finding{v1alpha1.ReasonInvalidHeader, fmt.Sprintf(
				"%s.name: %s of server %s is the same header as %s, since case makes no difference in HTTP; it must be a header that the server does not have yet",
				field, header.Name, server.Name, other)}
		}
		seen[strings.ToLower(header.Name)] = header.Name
	}
	return Finding{}
}
