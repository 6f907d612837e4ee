// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// ScanObject searches a JSON document: as it is, every string of it without
// its JSON escapes, and what such a string holds in base64, as a Secret's data
// do. A canary that is base64 twice is found that way.
func (s *Scanner) ScanObject(kind, place string, document []byte) error {
	s.ScanBytes(kind, place, document)
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		return fmt.Errorf("scan %s %s: %w", kind, place, err)
	}
	s.scanStrings(kind+" "+place, value)
	return nil
}

func (s *Scanner) scanStrings(place string, value any) {
	switch v := value.(type) {
	case string:
		s.search(place, []byte(v))
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
			s.search(place, decoded)
		}
	case []any:
		for _, element := range v {
			s.scanStrings(place, element)
		}
	case map[string]any:
		for key, element := range v {
			s.search(place, []byte(key))
			s.scanStrings(place, element)
		}
	}
}
