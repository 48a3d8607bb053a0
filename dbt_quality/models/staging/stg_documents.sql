-- One row for each tokenized document, without its per-character columns.
select
    artifact.dataset,
    artifact.partition_key,
    artifact.repo,
    artifact.ref,
    {{ document_set('document.artifact_file') }} as document_set,
    {{ budget('document.artifact_file') }} as budget,
    document.doc_id,
    document.filepath,
    document.license,
    document.split,
    document.actual_token_count as tokens,
    strlen(document.text) as text_bytes,
    md5(document.text) as text_md5,
    len(document.chunk_boundaries) as chunks,
    len(document.call_edges) as call_edges,
    len(document.type_edges) as type_edges,
    document.constituent_provenance
from {{ source('raw', 'tokenized_documents') }} as document
inner join {{ ref('stg_artifacts') }} as artifact on artifact.path = document.artifact_path
