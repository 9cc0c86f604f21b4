package systems

// RequestRow is a row of requests files.
type RequestRow = requestRow
