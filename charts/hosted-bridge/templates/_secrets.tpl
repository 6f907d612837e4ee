{{/* Which Secrets the pods read: those of the values, or those of secrets.yaml. */}}

{{- define "hosted-bridge.secret.master-key" -}}
{{- .Values.masterKey.existingSecret | default "hosted-bridge-master-key" -}}
{{- end }}

{{- define "hosted-bridge.secret.admin" -}}
{{- .Values.admin.existingSecret | default "hosted-bridge-admin" -}}
{{- end }}

{{- define "hosted-bridge.secret.audit-key" -}}
{{- .Values.audit.key.existingSecret | default "hosted-bridge-audit-key" -}}
{{- end }}

{{- define "hosted-bridge.secret.catalog-key" -}}
{{- .Values.catalog.signingKey.existingSecret | default "hosted-bridge-catalog-key" -}}
{{- end }}

{{- define "hosted-bridge.secret.snapshot-key" -}}
{{- .Values.ingress.snapshotKey.existingSecret | default "hosted-bridge-snapshot-key" -}}
{{- end }}

{{/* A key of 32 random bytes as processes read it: in base64, as the function says it. */}}
{{- define "hosted-bridge.secret.random" -}}
{{- randBytes 32 -}}
{{- end }}
