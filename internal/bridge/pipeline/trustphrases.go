// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"regexp"
	"strings"
	"sync"
)

// removed replaces a phrase.
const removed = "[removed]"

// maxPhrase limits the length of a phrase in bytes: a long phrase has a hundred, and words may be
// separated by several characters.
const maxPhrase = 400

// phrases are common instructions of attackers to models, by their first word. Searching only
// where such a word stands takes a thirtieth of the time of searching for all phrases everywhere.
// They take a quarter of a megabyte, and most bridges read no text for them.
var phrases = sync.OnceValue(func() map[string]*regexp.Regexp {
	byWord := map[string][]string{}
	for beginnings, rests := range map[string][]string{
		`ignore disregard forget override bypass`: {
			`\s+(?:all\s+|any\s+|every\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+|these\s+|those\s+)?(?:previous|prior|above|earlier|preceding|foregoing|former|existing|original|system|safety)\s+(?:instruction|prompt|rule|direction|guideline|command|context|message|constraint)s?\b`,
		},
		`ignore disregard forget`: {
			`\s+(?:everything|all|anything)\s+(?:above|before|previous(?:ly)?|prior|you\s+(?:were|have\s+been)\s+told)\b`,
			`\s+(?:all\s+)?your\s+(?:instruction|prompt|rule|guideline|training)s?\b`,
		},
		`new updated revised real actual`:      {`\s+(?:system\s+)?(?:instructions|prompt)\s*:`},
		`reveal print show output repeat leak`: {`\s+(?:me\s+)?(?:your|the)\s+(?:system|initial|hidden|secret)\s+(?:prompt|instructions|message)\b`},
		`you`:                                  {`\s+are\s+now\s+(?:in\s+)?(?:a\s+|an\s+)?(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer\s+mode|debug\s+mode|god\s+mode)\b`},
		`enter enable activate`:                {`\s+(?:dan|developer|debug|god|jailbreak|admin)\s+mode\b`},
		`switch`:                               {`\s+to\s+(?:dan|developer|debug|god|jailbreak|admin)\s+mode\b`},
		`act behave respond`:                   {`\s+as\s+(?:if\s+you\s+(?:are|were)\s+)?(?:a\s+|an\s+)?(?:dan|jailbroken|unrestricted|unfiltered|uncensored)\b`},
		`pretend`:                              {`\s+(?:that\s+)?you\s+(?:have\s+no|are\s+not\s+bound|are\s+free)\b`},
		`from`:                                 {`\s+now\s+on,?\s+you\s+(?:will|must|shall|are|should)\b`},
		`never`:                                {`\s+` + tellTheUser},
		`do`:                                   {`\s+not\s+` + tellTheUser},
		`don't`:                                {`\s+` + tellTheUser},
		`without`:                              {`\s+(?:telling|informing|asking|alerting|notifying)\s+the\s+user\b`},
	} {
		for word := range strings.FieldsSeq(beginnings) {
			byWord[word] = append(byWord[word], rests...)
		}
	}
	compiled := map[string]*regexp.Regexp{}
	for word, rests := range byWord {
		phrase := regexp.MustCompile(`(?i)\A` + regexp.QuoteMeta(word) + `(?:` + strings.Join(rests, "|") + `)`)
		phrase.Longest() // whichever comes first
		compiled[word] = phrase
	}
	return compiled
})

const tellTheUser = `(?:tell|inform|alert|notify|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to|show\s+(?:this|it)\s+to)\s+the\s+user\b`

// marks are the role marks in the prompts of some models, by their first character.
var marks = map[byte]*regexp.Regexp{
	'<': regexp.MustCompile(`(?i)\A(?:<\|[a-z0-9_ ]{1,40}\|>|<</?SYS>>)`),
	'[': regexp.MustCompile(`(?i)\A\[/?INST\]`),
	'#': regexp.MustCompile(`(?i)\A#{1,6}\s*(?:system|instruction)s?\s*:`),
}

// withoutPhrases replaces each phrase in s with a note.
func withoutPhrases(s string) string {
	var out strings.Builder
	kept := 0
	for i := 0; i < len(s); {
		n, next := phraseAt(s, i)
		if n > 0 {
			out.WriteString(s[kept:i])
			out.WriteString(removed)
			next = i + n
			kept = next
		}
		i = next
	}
	if kept == 0 {
		return s
	}
	out.WriteString(s[kept:])
	return out.String()
}

// phraseAt returns the length of the phrase at s[i], or 0, and the next position to search.
func phraseAt(s string, i int) (n, next int) {
	var phrase *regexp.Regexp
	next = i + 1
	if letter(s[i]) {
		for next < len(s) && (letter(s[next]) || s[next] == '\'') {
			next++
		}
		if next-i > len("disregard") {
			return 0, next
		}
		phrase = phrases()[strings.ToLower(s[i:next])]
	} else {
		phrase = marks[s[i]]
	}
	if phrase == nil {
		return 0, next
	}
	return len(phrase.FindString(s[i:min(len(s), i+maxPhrase)])), next
}

// letter reports whether c is part of a word.
func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
