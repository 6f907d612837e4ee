{{/* Directories: who may send people and groups by SCIM. */}}

{{/* Not empty where there are any. Values of an earlier chart have no scim. */}}
{{- define "hosted-bridge.scim.enabled" -}}
{{- if (.Values.scim).directories -}}
true
{{- end -}}
{{- end }}

{{/* The file of --scim-config. */}}
{{- define "hosted-bridge.config.scim" -}}
scim.yaml: |
  {{- toYaml (dict "directories" .Values.scim.directories) | nindent 2 }}
{{- end }}

{{- define "hosted-bridge.ingress.scim.args" -}}
{{- if include "hosted-bridge.scim.enabled" . -}}
- --scim-config=/etc/hosted-bridge/scim/scim.yaml
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.scim.mounts" -}}
{{- if include "hosted-bridge.scim.enabled" . -}}
- {name: scim, mountPath: /etc/hosted-bridge/scim, readOnly: true}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.scim.volumes" -}}
{{- if include "hosted-bridge.scim.enabled" . -}}
- name: scim
  configMap: {name: hosted-bridge-scim}
{{- end }}
{{- end }}

{{/* Hashes are not left to the schema, whose messages would repeat a token in their place. */}}
{{- define "hosted-bridge.validate.scim" -}}
{{- $issuers := dict }}
{{- range (.Values.scim).directories }}
{{- range .tokenHashes }}
{{- if not (regexMatch "^sha256:[0-9a-f]{64}$" .) }}
{{- fail "scim.directories has a tokenHashes entry that is not sha256: and 64 lower-case hex digits: use the hash that \"ingress scim token\" prints, not the token" }}
{{- end }}
{{- end }}
{{- if hasKey $issuers .issuer }}
{{- fail (printf "scim.directories has two with the issuer %s: one directory decides about the people of an issuer" .issuer) }}
{{- end }}
{{- $_ := set $issuers .issuer true }}
{{- end }}
{{- end }}
