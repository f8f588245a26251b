use anyhow::Result;

use super::Request;
use super::by_records;
use super::findings::Findings;

/// Values the policies from columns of numbers alone.
pub fn evaluate(request: &Request<'_>) -> Result<Findings> {
    by_records::evaluate(request)
}
