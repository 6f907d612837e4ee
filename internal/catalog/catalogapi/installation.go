// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	official "github.com/hostedbridge/hostedbridge/internal/catalog/registry"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// installationName is the name of the installation's own entry in the form of the
// official registry. A recipe of this name is not in that form.
const installationName = "hosted-bridge"

// installation is that entry, for clients whose policy allows only the URLs of a
// registry. It is nil if the installation's URL is not known.
type installation struct {
	name, version string
	at            time.Time
	entry         []byte // as JSON
}

// newInstallation returns the entry of the installation at the URL, such as
// https://bridge.example.com.
func newInstallation(url, namespace string, at time.Time) (*installation, error) {
	if url == "" {
		return nil, nil //nolint:nilnil // There is no entry.
	}
	i := &installation{name: namespace + "/" + installationName, version: strings.TrimPrefix(version.String(), "v"), at: at}
	var err error
	i.entry, err = jsondoc.Marshal(official.Installation(i.name, strings.TrimSuffix(url, "/")+"/mcp", i.version, at))
	return i, err
}

// matches reports whether the entry is in the first page of a query.
func (i *installation) matches(q searchQuery) bool {
	return i != nil && q.Cursor == "" && strings.Contains(strings.ToLower(i.name), q.Text) && i.has(q.version) && !i.at.Before(q.since)
}

// has reports whether the entry has a version; empty means the latest.
func (i *installation) has(version string) bool {
	return version == "" || version == latest || version == i.version
}

// tag returns the ETag of the entry.
func (i *installation) tag() string {
	return `"` + i.version + "-" + strconv.FormatInt(i.at.UnixNano(), 36) + `"`
}
