{{/* Where ingresses count together: the store, or a Redis or Valkey. */}}

{{- define "hosted-bridge.ingress.quota.args" -}}
{{- if include "hosted-bridge.store.counts" . }}
- --quota-store-url={{ include "hosted-bridge.store.url" . }}
{{- end }}
{{- with .Values.quota.redis }}
{{- if .url }}
- --quota-redis-url={{ .url }}
{{- if .existingSecret }}
- --quota-redis-password-file=/var/run/secrets/hosted-bridge-redis/password
{{- end }}
{{- if .caConfigMap }}
- --quota-redis-ca-file=/etc/hosted-bridge/redis/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.quota.mounts" -}}
{{- with .Values.quota.redis }}
{{- if .existingSecret }}
- {name: redis-password, mountPath: /var/run/secrets/hosted-bridge-redis, readOnly: true}
{{- end }}
{{- if .caConfigMap }}
- {name: redis-ca, mountPath: /etc/hosted-bridge/redis, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.ingress.quota.volumes" -}}
{{- with .Values.quota.redis }}
{{- if .existingSecret }}
- name: redis-password
  secret: {secretName: {{ .existingSecret }}, defaultMode: 0440}
{{- end }}
{{- if .caConfigMap }}
- name: redis-ca
  configMap: {name: {{ .caConfigMap }}}
{{- end }}
{{- end }}
{{- end }}
