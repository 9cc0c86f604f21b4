# keeps the compiler busy
# ends: error memory signal time
# bound: CPU time
exec("x = " + "(" * 100 + "1" + ")" * 100)
exec("x = " + "-" * 3_000_000 + "1")
