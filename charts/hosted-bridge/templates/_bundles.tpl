{{/* Bundles of programs: what makes and keeps them. */}}

{{/* Whether there are any; empty if not. They are in the store. */}}
{{- define "hosted-bridge.bundles.used" -}}
{{- if and .Values.bundles.enabled .Values.store.enabled -}}true{{- end -}}
{{- end }}

{{/* Their URL in flags. */}}
{{- define "hosted-bridge.bundles.url" -}}
https://hosted-bridge-store.$(POD_NAMESPACE).svc:8444
{{- end }}

{{- define "hosted-bridge.operator.bundles.args" -}}
{{- if include "hosted-bridge.bundles.used" . }}
- --bundles-url={{ include "hosted-bridge.bundles.url" . }}
- --packer-image=$(PACKER_IMAGE)
- --bundle-max-bytes={{ .Values.bundles.maxBytes | int64 }}
{{- with .Values.bundles.architecture }}
- --bundle-architecture={{ . }}
{{- end }}
{{- with .Values.bundles.registry.repository }}
- --bundle-registry={{ . }}
{{- end }}
{{- with .Values.bundles.registry.authorities }}
- {{ printf "--bundle-registry-authorities=%s" . | quote }}
{{- end }}
{{- range .Values.bundles.installScripts }}
- {{ printf "--bundle-install-scripts=%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.validate.bundles" -}}
{{- if and .Values.bundles.registry.repository (semverCompare "<1.35.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "bundles.registry.repository needs image volumes, which Kubernetes %s does not have by default: upgrade to 1.35 or later, or leave it out, and programs are started from the store's files" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if lt (int64 .Values.bundles.maxTotalBytes) (int64 .Values.bundles.maxBytes) }}
{{- fail "bundles.maxTotalBytes is less than bundles.maxBytes: no bundle of that size has room" }}
{{- end }}
{{- end }}

{{/*
Which addresses of the Internet are none of a public server: the ranges that
package netguard has for users' programs too. A test compares them.
*/}}
{{- define "hosted-bridge.bundles.notPublic4" -}}
- 0.0.0.0/8
- 10.0.0.0/8
- 100.64.0.0/10
- 127.0.0.0/8
- 168.63.129.16/32
- 169.254.0.0/16
- 172.16.0.0/12
- 192.0.0.0/24
- 192.0.2.0/24
- 192.88.99.0/24
- 192.168.0.0/16
- 198.18.0.0/15
- 198.51.100.0/24
- 203.0.113.0/24
- 224.0.0.0/4
- 240.0.0.0/4
{{- end }}

{{- define "hosted-bridge.bundles.notPublic6" -}}
- ::/80
- ::ffff:0:0:0/104
- ::ffff:0:a00:0/104
- ::ffff:0:6440:0/106
- ::ffff:0:7f00:0/104
- ::ffff:0:a83f:8110/128
- ::ffff:0:a9fe:0/112
- ::ffff:0:ac10:0/108
- ::ffff:0:c000:0/120
- ::ffff:0:c000:200/120
- ::ffff:0:c058:6300/120
- ::ffff:0:c0a8:0/112
- ::ffff:0:c612:0/111
- ::ffff:0:c633:6400/120
- ::ffff:0:cb00:7100/120
- ::ffff:0:e000:0/100
- ::ffff:0:f000:0/100
- 64:ff9b::/104
- 64:ff9b::a00:0/104
- 64:ff9b::6440:0/106
- 64:ff9b::7f00:0/104
- 64:ff9b::a83f:8110/128
- 64:ff9b::a9fe:0/112
- 64:ff9b::ac10:0/108
- 64:ff9b::c000:0/120
- 64:ff9b::c000:200/120
- 64:ff9b::c058:6300/120
- 64:ff9b::c0a8:0/112
- 64:ff9b::c612:0/111
- 64:ff9b::c633:6400/120
- 64:ff9b::cb00:7100/120
- 64:ff9b::e000:0/100
- 64:ff9b::f000:0/100
- 64:ff9b:1::/48
- 100::/64
- 2001::/23
- 2001:db8::/32
- 2002::/24
- 2002:a00::/24
- 2002:6440::/26
- 2002:7f00::/24
- 2002:a83f:8110::/48
- 2002:a9fe::/32
- 2002:ac10::/28
- 2002:c000::/40
- 2002:c000:200::/40
- 2002:c058:6300::/40
- 2002:c0a8::/32
- 2002:c612::/31
- 2002:c633:6400::/40
- 2002:cb00:7100::/40
- 2002:e000::/20
- 2002:f000::/20
- 3fff::/20
- 5f00::/16
- fc00::/7
- fe80::/10
- fec0::/10
- ff00::/8
{{- end }}

{{/* The number of an IPv4 address: call with its text. */}}
{{- define "hosted-bridge.bundles.number" -}}
{{- $n := 0 -}}
{{- range splitList "." . -}}
{{- $n = add (mul $n 256) (atoi .) -}}
{{- end -}}
{{- $n -}}
{{- end }}

{{/* Whether one range of IPv4 has all of another in it: call with (list "10.0.0.0/8" "10.1.0.0/16"). */}}
{{- define "hosted-bridge.bundles.covers" -}}
{{- $of := splitList "/" (index . 0) -}}
{{- $other := splitList "/" (index . 1) -}}
{{- $size := 1 -}}
{{- range until (int (sub 32 (atoi (index $of 1)))) }}{{ $size = mul $size 2 }}{{ end -}}
{{- $first := include "hosted-bridge.bundles.number" (index $of 0) | int64 -}}
{{- $second := include "hosted-bridge.bundles.number" (index $other 0) | int64 -}}
{{- if and (ge (atoi (index $other 1)) (atoi (index $of 1))) (eq (div $first $size) (div $second $size)) -}}true{{- end -}}
{{- end }}

{{/*
Where packages come from, as peers of a policy: public addresses, and those that
users' servers may have besides, without those that are denied. Empty if there are
none. A range of IPv6 is left out where any address of IPv6 is denied: whether that is
in the range is too much for a template.
*/}}
{{- define "hosted-bridge.bundles.registries" -}}
{{- $denied4 := list -}}
{{- $denied6 := list -}}
{{- range .Values.bridge.upstream.denyCIDRs -}}
{{- if contains ":" . }}{{ $denied6 = append $denied6 . }}{{ else }}{{ $denied4 = append $denied4 . }}{{ end -}}
{{- end -}}
{{- if not (has "0.0.0.0/0" $denied4) }}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
    {{- include "hosted-bridge.bundles.notPublic4" . | nindent 4 }}
    {{- range $denied4 }}
    - {{ . }}
    {{- end }}
{{- end }}
{{- if not (has "::/0" $denied6) }}
- ipBlock:
    cidr: ::/0
    except:
    {{- include "hosted-bridge.bundles.notPublic6" . | nindent 4 }}
    {{- range $denied6 }}
    - {{ . | quote }}
    {{- end }}
{{- end }}
{{- range $allowed := .Values.bridge.upstream.allowCIDRs }}
{{- if contains ":" $allowed }}
{{- if not $denied6 }}
- ipBlock: {cidr: {{ $allowed | quote }}}
{{- end }}
{{- else }}
{{- $except := list }}
{{- $none := false }}
{{- range $denied := $denied4 }}
{{- if include "hosted-bridge.bundles.covers" (list $denied $allowed) }}
{{- $none = true }}
{{- else if include "hosted-bridge.bundles.covers" (list $allowed $denied) }}
{{- $except = append $except $denied }}
{{- end }}
{{- end }}
{{- if not $none }}
- ipBlock:
    cidr: {{ $allowed }}
    {{- with $except }}
    except: {{ toJson . }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
